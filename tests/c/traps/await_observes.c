// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// Whoever waits for x = 1 looks at x too: x can be 1 or 2 at the end.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_assume(int);

static atomic_int x;

static void *one(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

static void *two(void *arg) {
    (void)arg;
    atomic_store(&x, 2);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    __VERIFIER_assume(atomic_load(&x) == 1);
    pthread_join(s, 0);
    pthread_join(t, 0);
    if (atomic_load(&x) == 1)
        assert(0 && "two came first"); // HERE
    else
        assert(0 && "two came last"); // HERE
}

// RUN: check
// EXPECT: violation assertion
// x is 1 before anybody stores: whoever takes 0 for its first value misses the assertion.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_assume(int);

static atomic_int x = 1;

static void *clear(void *arg) {
    (void)arg;
    atomic_store(&x, 0);
    return 0;
}

static void *reader(void *arg) {
    (void)arg;
    int seen = atomic_load(&x);
    __VERIFIER_assume(seen == 1);
    assert(0); // HERE
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, clear, 0);
    pthread_create(&t, 0, reader, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
}

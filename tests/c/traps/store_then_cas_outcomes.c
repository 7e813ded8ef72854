// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// EXPECT: violation assertion
// All three outcomes of the program before are there.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *other(void *arg) {
    (void)arg;
    atomic_store(&x, 3);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    atomic_store(&x, 1);
    int expected = 1;
    int done = atomic_compare_exchange_strong(&x, &expected, 2);
    pthread_join(t, 0);
    int last = atomic_load(&x);
    if (done && last == 2)
        assert(0 && "the other store came first"); // HERE
    if (done && last == 3)
        assert(0 && "the other store came last"); // HERE
    if (!done)
        assert(0 && "the other store came between"); // HERE
}

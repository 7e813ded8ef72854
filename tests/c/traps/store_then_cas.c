// RUN: check
// EXPECT: verified
// A store followed by an exchange of the same thread, against a store of another: the exchange fails only if that store
// fell between.
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
    if (done)
        assert(last == 2 || last == 3);
    else
        assert(expected == 3 && last == 3);
}

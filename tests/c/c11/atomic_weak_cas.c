// RUN: check
// EXPECT: verified
// The usual loop around a weak exchange.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *twice(void *arg) {
    (void)arg;
    int old = atomic_load(&x);
    while (!atomic_compare_exchange_weak(&x, &old, 2 * old + 1)) {
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, twice, 0);
    pthread_create(&b, 0, twice, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(x == 3);
}

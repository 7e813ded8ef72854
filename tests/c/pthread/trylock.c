// RUN: check
// EXPECT: verified
// Exactly one of two attempts succeeds while the lock is never released.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *attempt(void *arg) {
    (void)arg;
    int r = pthread_mutex_trylock(&m);
    assert(r == 0 || r == EBUSY);
    return (void *)(intptr_t)r;
}

int main(void) {
    pthread_t a, b;
    void *ra, *rb;
    pthread_create(&a, 0, attempt, 0);
    pthread_create(&b, 0, attempt, 0);
    pthread_join(a, &ra);
    pthread_join(b, &rb);
    assert((ra == 0) != (rb == 0));
}

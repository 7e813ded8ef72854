/* Test and test-and-set: T threads look at the lock until it is free, try to get it by an exchange, and enter N times
 * each.
 *
 * An exchange that finds the lock taken leaves it as it was, so the outer loop is pure too. With -DBUG a thread that saw
 * the lock free takes it by a store. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

#ifndef T
#define T 2
#endif
#ifndef N
#define N 1
#endif

static atomic_int taken;
static int counter;

static void lock(void) {
    for (;;) {
        AWAIT(!atomic_load_explicit(&taken, memory_order_relaxed));
#ifdef BUG
        atomic_store_explicit(&taken, 1, memory_order_release);
        return;
#else
        if (!atomic_exchange_explicit(&taken, 1, memory_order_acquire))
            return;
#endif
    }
}

static void unlock(void) {
    atomic_store_explicit(&taken, 0, memory_order_release);
}

static void *worker(void *arg) {
    for (int i = 0; i < N; i++) {
        lock();
        counter++;
        unlock();
    }
    return arg;
}

int main(void) {
    pthread_t t[T];
    for (int i = 0; i < T; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < T; i++)
        pthread_join(t[i], NULL);
    assert(counter == T * N);
    return 0;
}

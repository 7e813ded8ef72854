/* A ticket lock: T threads draw a number each, wait until it is called, and enter N times each.
 *
 * With -DBUG drawing a number is a load and a store: two threads can get the same one. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "await.h"

#ifndef T
#define T 2
#endif
#ifndef N
#define N 1
#endif

static atomic_uint next_ticket, now_serving;
static int counter;

static void lock(void) {
#ifdef BUG
    unsigned mine = atomic_load_explicit(&next_ticket, memory_order_relaxed);
    atomic_store_explicit(&next_ticket, mine + 1, memory_order_relaxed);
#else
    unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
#endif
    AWAIT(atomic_load_explicit(&now_serving, memory_order_acquire) == mine);
}

static void unlock(void) {
    unsigned mine = atomic_load_explicit(&now_serving, memory_order_relaxed);
    atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
}

static void *worker(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        lock();
        counter++;
        unlock();
    }
    return NULL;
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

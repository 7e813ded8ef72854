/* A mutex with a count of those who wait: T threads enter N times each.
 *
 * Who finds it taken counts itself in, marks the word, and sleeps while it is marked. Who leaves wakes others if the word
 * was marked or somebody was counted. (The normal mutex of the musl C library works like this.) The count is changed by
 * fetch-and-adds whose results are not used. With -DBUG the word is not marked, and one who is counted too late sleeps
 * for ever. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "futex.h"

#ifndef T
#define T 2
#endif
#ifndef N
#define N 1
#endif
#ifdef BUG
#define MARK 0
#else
#define MARK 2
#endif

enum { FREE = 0, TAKEN = 1 };

static atomic_int word, waiters;
static int counter;

static int try_lock(void) {
    int expected = FREE;
    return atomic_compare_exchange_strong_explicit(&word, &expected, TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void lock(void) {
    while (!try_lock()) {
        int seen = atomic_load_explicit(&word, memory_order_relaxed);
        if (seen == FREE)
            continue;
        atomic_fetch_add_explicit(&waiters, 1, memory_order_relaxed);
        int marked = seen | MARK;
        atomic_compare_exchange_strong_explicit(&word, &seen, marked, memory_order_relaxed, memory_order_relaxed);
        futex_wait(&word, marked);
        atomic_fetch_sub_explicit(&waiters, 1, memory_order_relaxed);
    }
}

static void unlock(void) {
    int waiting = atomic_load_explicit(&waiters, memory_order_relaxed);
    int was = atomic_exchange_explicit(&word, FREE, memory_order_release);
    if (waiting || was != TAKEN)
        futex_wake();
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

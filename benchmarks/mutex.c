/* A mutex of three states, free, taken, and taken with others waiting: T threads enter N times each.
 *
 * A thread sleeps only if it has left the word in the third state, and who finds it there on leaving wakes others.
 * (U. Drepper, Futexes Are Tricky, 2011, the second mutex.) The results of wake-ups are not used, so they commute.
 * With -DBUG a thread goes to sleep without a word, and nobody wakes it. */
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
#define ASLEEP TAKEN
#else
#define ASLEEP CONTENDED
#endif

enum { FREE, TAKEN, CONTENDED };

static atomic_int state;
static int counter;

/* What the state was; it is changed if it was as expected. */
static int change(int expected, int to) {
    atomic_compare_exchange_strong_explicit(&state, &expected, to, memory_order_acquire, memory_order_relaxed);
    return expected;
}

static void lock(void) {
    int was = change(FREE, TAKEN);
    while (was != FREE) {
        if (was == ASLEEP || change(TAKEN, ASLEEP) != FREE)
            futex_wait(&state, ASLEEP);
        was = change(FREE, ASLEEP);
    }
}

static void unlock(void) {
    if (atomic_exchange_explicit(&state, FREE, memory_order_release) == CONTENDED)
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

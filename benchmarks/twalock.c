/* A ticket lock with a waiting array: T threads draw a number each and enter N times each.
 *
 * Who is next waits for the number to be called. Others wait further away, each at a slot that its number selects, until
 * somebody who leaves knocks there. (D. Dice, A. Kogan, TWA: Ticket Locks Augmented with a Waiting Array, Euro-Par 2019.)
 * Numbers do not come round here. With -DBUG who leaves knocks before the next number is called, and the one who
 * waits at the slot can come too late for it. */
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
#define SLOTS 8
#define NEAR 1

static atomic_uint next_ticket, now_serving, knocks[SLOTS];
static int counter;

static void lock(void) {
    unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    unsigned now = atomic_load_explicit(&now_serving, memory_order_acquire);
    if (now == mine)
        return;
    if (mine - now > NEAR) {
        unsigned near = mine - NEAR;
        for (;;) {
            unsigned seen = atomic_load_explicit(&knocks[mine % SLOTS], memory_order_acquire);
            if (atomic_load_explicit(&now_serving, memory_order_acquire) >= near)
                break;
            AWAIT(atomic_load_explicit(&knocks[mine % SLOTS], memory_order_acquire) != seen);
        }
    }
    AWAIT(atomic_load_explicit(&now_serving, memory_order_acquire) == mine);
}

static void unlock(void) {
    unsigned next = atomic_load_explicit(&now_serving, memory_order_relaxed) + 1;
#ifdef BUG
    atomic_fetch_add_explicit(&knocks[(next + NEAR) % SLOTS], 1, memory_order_release);
    atomic_store_explicit(&now_serving, next, memory_order_release);
#else
    atomic_store_explicit(&now_serving, next, memory_order_release);
    atomic_fetch_add_explicit(&knocks[(next + NEAR) % SLOTS], 1, memory_order_release);
#endif
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

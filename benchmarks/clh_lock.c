/* The lock of Craig, Landin and Hagersten: T threads queue up behind each other's nodes, and enter N times each.
 *
 * Each thread spins on the node of its predecessor and takes that node over for its next turn.
 * With -DBUG a thread raises its flag only after it has joined the queue: its successor may have looked before. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "await.h"

#ifndef T
#define T 2
#endif
#ifndef N
#define N 1
#endif

struct node {
    atomic_int locked;
};

static struct node nodes[T + 1];
static _Atomic(struct node *) tail = &nodes[T];
static int counter;

static void *worker(void *arg) {
    struct node *mine = &nodes[(intptr_t)arg];
    for (int i = 0; i < N; i++) {
#ifdef BUG
        struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
        atomic_store_explicit(&mine->locked, 1, memory_order_relaxed);
#else
        atomic_store_explicit(&mine->locked, 1, memory_order_relaxed);
        struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
#endif
        AWAIT(!atomic_load_explicit(&before->locked, memory_order_acquire));
        counter++;
        atomic_store_explicit(&mine->locked, 0, memory_order_release);
        mine = before;
    }
    return NULL;
}

int main(void) {
    pthread_t t[T];
    for (intptr_t i = 0; i < T; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < T; i++)
        pthread_join(t[i], NULL);
    assert(counter == T * N);
    return 0;
}

/* The lock of Mellor-Crummey and Scott: T threads queue up, each spins on its own node, and enter N times each.
 *
 * With -DBUG a thread does not raise its flag before it joins the queue, and so does not wait. */
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
    _Atomic(struct node *) next;
    atomic_int locked;
};

static struct node nodes[T];
static _Atomic(struct node *) tail;
static int counter;

static void lock(struct node *me) {
    atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
#ifndef BUG
    atomic_store_explicit(&me->locked, 1, memory_order_relaxed);
#endif
    struct node *before = atomic_exchange_explicit(&tail, me, memory_order_acq_rel);
    if (before) {
        atomic_store_explicit(&before->next, me, memory_order_release);
        AWAIT(!atomic_load_explicit(&me->locked, memory_order_acquire));
    }
}

static void unlock(struct node *me) {
    struct node *after = atomic_load_explicit(&me->next, memory_order_acquire);
    if (!after) {
        struct node *last = me;
        if (atomic_compare_exchange_strong_explicit(&tail, &last, NULL, memory_order_release, memory_order_relaxed))
            return;
        AWAIT((after = atomic_load_explicit(&me->next, memory_order_acquire)) != NULL);
    }
    atomic_store_explicit(&after->locked, 0, memory_order_release);
}

static void *worker(void *arg) {
    struct node *me = &nodes[(intptr_t)arg];
    for (int i = 0; i < N; i++) {
        lock(me);
        counter++;
        unlock(me);
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

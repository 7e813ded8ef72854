/* The idle workers of a server: W workers hand in the pool that they used and say that they are idle, a listener tries to
 * reserve one of them and then takes a pool.
 *
 * Pools are pushed on a list by compare-and-exchange, idle workers are counted by another word, and the listener waits for
 * neither: it takes what there is, TRIES times. A reserved worker always has a pool on the list. (In the manner of the
 * queue of the Apache server, on the atomics of its portable runtime.) With -DBUG a worker says that it is idle before its pool is on the list. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef W
#define W 2
#endif
#ifndef TRIES
#define TRIES 2
#endif

struct pool {
    _Atomic(struct pool *) next;
};

static struct pool pools[W];
static _Atomic(struct pool *) recycled;
static atomic_int idle, first_idle;

static void hand_in(struct pool *pool) {
    for (;;) {
        struct pool *top = atomic_load_explicit(&recycled, memory_order_relaxed);
        atomic_store_explicit(&pool->next, top, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&recycled, &top, pool, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
}

static void say_idle(int me) {
    if (atomic_fetch_add_explicit(&idle, 1, memory_order_acq_rel) == 0)
        atomic_store_explicit(&first_idle, me, memory_order_relaxed);
}

static void *worker(void *arg) {
    int me = (int)(intptr_t)arg;
#ifdef BUG
    say_idle(me);
    hand_in(&pools[me]);
#else
    hand_in(&pools[me]);
    say_idle(me);
#endif
    return NULL;
}

static int reserve(void) {
    int now = atomic_load_explicit(&idle, memory_order_acquire);
    return now > 0 && atomic_compare_exchange_strong_explicit(&idle, &now, now - 1, memory_order_acq_rel,
                                                              memory_order_relaxed);
}

static struct pool *take(void) {
    struct pool *top = atomic_load_explicit(&recycled, memory_order_acquire);
    while (top) {
        struct pool *next = atomic_load_explicit(&top->next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&recycled, &top, next, memory_order_acq_rel,
                                                    memory_order_acquire))
            break;
    }
    return top;
}

static void *listener(void *arg) {
    for (int i = 0; i < TRIES; i++)
        if (reserve()) {
            int first = atomic_load_explicit(&first_idle, memory_order_relaxed);
            struct pool *pool = take();
            assert(pool && first >= 0 && first < W);
        }
    return arg;
}

int main(void) {
    pthread_t t[W + 1];
    for (intptr_t i = 0; i < W; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    pthread_create(&t[W], NULL, listener, NULL);
    for (int i = 0; i < W + 1; i++)
        pthread_join(t[i], NULL);
    return 0;
}

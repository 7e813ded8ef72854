/* The queued spin lock of Linux: T threads enter N times each.
 *
 * One word holds whether the lock is taken, whether somebody is the first to wait, and who is the last in the queue. The
 * first to wait spins on the word, the first in the queue behind it too, and all others on nodes of their own, as in the
 * lock of Mellor-Crummey and Scott. All changes are to the whole word here; nobody is interrupted, so a thread has one
 * node. With -DBUG who comes to the head of the queue does not wait for the one before the queue. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "await.h"

#ifndef T
#define T 2
#endif
#ifndef N
#define N 1
#endif

#define LOCKED 0x1u
#define PENDING 0x100u
#define FRONT 0x1ffu /* both of them */
#define TAIL(i) ((unsigned)(i) + 1 << 16)
#ifdef BUG
#define MUST_GO LOCKED
#else
#define MUST_GO FRONT
#endif

struct node {
    _Atomic(struct node *) next;
    atomic_int head;
};

static atomic_uint word;
static struct node nodes[T];
static int counter;

static int try_change(unsigned from, unsigned to, memory_order order) {
    return atomic_compare_exchange_strong_explicit(&word, &from, to, order, memory_order_relaxed);
}

/* Waits until none of these bits is set, and says what the word is then. */
static unsigned wait_without(unsigned bits) {
    unsigned now;
    AWAIT(!((now = atomic_load_explicit(&word, memory_order_acquire)) & bits));
    return now;
}

/* Becomes the last in the queue, and says what the word was. */
static unsigned join_queue(int me) {
    unsigned old;
    do {
        old = atomic_load_explicit(&word, memory_order_relaxed);
    } while (!try_change(old, (old & FRONT) | TAIL(me), memory_order_acq_rel));
    return old;
}

static void queue(int me) {
    struct node *node = &nodes[me];
    atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&node->head, 0, memory_order_relaxed);
    if (try_change(0, LOCKED, memory_order_acquire))
        return;
    unsigned old = join_queue(me);
    if (old & ~FRONT) {
        struct node *before = &nodes[(old >> 16) - 1];
        atomic_store_explicit(&before->next, node, memory_order_release);
        AWAIT(atomic_load_explicit(&node->head, memory_order_acquire));
    }
    unsigned now = wait_without(MUST_GO);
    if ((now & ~FRONT) == TAIL(me) && try_change(now, LOCKED, memory_order_relaxed))
        return;
    atomic_fetch_or_explicit(&word, LOCKED, memory_order_relaxed);
    struct node *next;
    AWAIT((next = atomic_load_explicit(&node->next, memory_order_acquire)) != NULL);
    atomic_store_explicit(&next->head, 1, memory_order_release);
}

static void lock(int me) {
    unsigned old = 0;
    if (atomic_compare_exchange_strong_explicit(&word, &old, LOCKED, memory_order_acquire, memory_order_relaxed))
        return;
    if (!(old & ~LOCKED)) {
        old = atomic_fetch_or_explicit(&word, PENDING, memory_order_acquire);
        if (!(old & ~LOCKED)) {
            if (old & LOCKED)
                wait_without(LOCKED);
            atomic_fetch_add_explicit(&word, LOCKED - PENDING, memory_order_relaxed);
            return;
        }
        if (!(old & PENDING))
            atomic_fetch_and_explicit(&word, ~PENDING, memory_order_relaxed);
    }
    queue(me);
}

static void unlock(void) {
    atomic_fetch_sub_explicit(&word, LOCKED, memory_order_release);
}

static void *worker(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < N; i++) {
        lock(me);
        counter++;
        unlock();
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

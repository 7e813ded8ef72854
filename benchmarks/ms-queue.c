/* The lock-free queue of Michael and Scott: ENQ threads put a number each, DEQ threads try to take one each.
 *
 * What was put is taken once or is still there at the end. Threads help each other to move the tail on. Nodes are not
 * reused, so that there is no ABA. (Michael and Scott, Simple, Fast, and Practical Non-Blocking and Blocking Concurrent
 * Queue Algorithms, PODC 1996.) With -DBUG a put links its node by a store and can overwrite another one's. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef ENQ
#define ENQ 1
#endif
#ifndef DEQ
#define DEQ 1
#endif

struct node {
    int value;
    _Atomic(struct node *) next;
};

static _Atomic(struct node *) head, tail;
static int taken[DEQ > 0 ? DEQ : 1];

static struct node *new_node(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    atomic_init(&node->next, NULL);
    return node;
}

static int swing(_Atomic(struct node *) *at, struct node *from, struct node *to) {
    return atomic_compare_exchange_strong_explicit(at, &from, to, memory_order_acq_rel, memory_order_acquire);
}

static void enqueue(int value) {
    struct node *node = new_node(value);
    for (;;) {
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
        if (last != atomic_load_explicit(&tail, memory_order_acquire))
            continue;
        if (next) {
            swing(&tail, last, next);
            continue;
        }
#ifdef BUG
        atomic_store_explicit(&last->next, node, memory_order_release);
#else
        if (!swing(&last->next, NULL, node))
            continue;
#endif
        swing(&tail, last, node);
        return;
    }
}

static int dequeue(void) {
    for (;;) {
        struct node *first = atomic_load_explicit(&head, memory_order_acquire);
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&first->next, memory_order_acquire);
        if (first != atomic_load_explicit(&head, memory_order_acquire))
            continue;
        if (!next)
            return 0;
        if (first == last)
            swing(&tail, last, next);
        else if (swing(&head, first, next))
            return next->value;
    }
}

static void *putter(void *arg) {
    enqueue((int)(intptr_t)arg);
    return NULL;
}

static void *taker(void *arg) {
    taken[(intptr_t)arg] = dequeue();
    return NULL;
}

int main(void) {
    pthread_t t[ENQ + DEQ];
    struct node *dummy = new_node(0);
    atomic_init(&head, dummy);
    atomic_init(&tail, dummy);
    for (intptr_t i = 0; i < ENQ; i++)
        pthread_create(&t[i], NULL, putter, (void *)(i + 1));
    for (intptr_t i = 0; i < DEQ; i++)
        pthread_create(&t[ENQ + i], NULL, taker, (void *)i);
    for (int i = 0; i < ENQ + DEQ; i++)
        pthread_join(t[i], NULL);
    int seen[ENQ + 1] = {0};
    for (int i = 0; i < DEQ; i++)
        seen[taken[i]]++;
    for (int value = dequeue(); value; value = dequeue())
        seen[value]++;
    for (int i = 1; i <= ENQ; i++)
        assert(seen[i] == 1);
    return 0;
}

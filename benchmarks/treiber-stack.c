/* Treiber's lock-free stack: PUSH threads push a node each, POP threads try to pop one each, BOTH threads do one after the
 * other.
 *
 * What was pushed is popped once or is still there at the end. A thread whose exchange fails tries again, and it fails
 * only because another one succeeded: the program is bounded. An attempt that fails does nothing that lasts. (R. K.
 * Treiber, Systems programming: coping with parallelism, 1986.) With -DBUG a pop is a load and a store, and a node can be
 * popped twice. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef PUSH
#define PUSH 2
#endif
#ifndef POP
#define POP 1
#endif
#ifndef BOTH
#define BOTH 0
#endif

struct node {
    struct node *next;
    int value;
};

static _Atomic(struct node *) top;
static int taken[POP + BOTH > 0 ? POP + BOTH : 1];

static void push(int value) {
    struct node *node = malloc(sizeof *node), *old;
    node->value = value;
    do {
        old = atomic_load_explicit(&top, memory_order_relaxed);
        node->next = old;
    } while (!atomic_compare_exchange_strong_explicit(&top, &old, node, memory_order_release, memory_order_relaxed));
}

static int pop(void) {
    for (;;) {
        struct node *old = atomic_load_explicit(&top, memory_order_acquire);
        if (!old)
            return 0;
        struct node *next = old->next;
#ifdef BUG
        atomic_store_explicit(&top, next, memory_order_release);
        return old->value;
#else
        if (atomic_compare_exchange_strong_explicit(&top, &old, next, memory_order_acq_rel, memory_order_relaxed))
            return old->value;
#endif
    }
}

static void *pusher(void *arg) {
    push((int)(intptr_t)arg);
    return NULL;
}

static void *popper(void *arg) {
    taken[(intptr_t)arg] = pop();
    return NULL;
}

static void *both(void *arg) {
    push(PUSH + 1 + (int)(intptr_t)arg);
    taken[POP + (intptr_t)arg] = pop();
    return NULL;
}

int main(void) {
    pthread_t t[PUSH + POP + BOTH];
    for (intptr_t i = 0; i < PUSH; i++)
        pthread_create(&t[i], NULL, pusher, (void *)(i + 1));
    for (intptr_t i = 0; i < POP; i++)
        pthread_create(&t[PUSH + i], NULL, popper, (void *)i);
    for (intptr_t i = 0; i < BOTH; i++)
        pthread_create(&t[PUSH + POP + i], NULL, both, (void *)i);
    for (int i = 0; i < PUSH + POP + BOTH; i++)
        pthread_join(t[i], NULL);
    int seen[PUSH + BOTH + 1] = {0};
    for (int i = 0; i < POP + BOTH; i++)
        seen[taken[i]]++;
    for (int value = pop(); value; value = pop())
        seen[value]++;
    for (int i = 1; i <= PUSH + BOTH; i++)
        assert(seen[i] == 1);
    return 0;
}

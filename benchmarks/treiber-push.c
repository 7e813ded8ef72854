/* N threads push a node each on Treiber's stack.
 *
 * An attempt that fails writes to nothing but the thread's own node: N! executions if only those are left in which every
 * exchange succeeds at once. (Kokologiannakis, Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023,
 * Table 2.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef N
#define N 4
#endif

struct node {
    struct node *next;
    int value;
};

static _Atomic(struct node *) top;

static void push(int value) {
    struct node *node = malloc(sizeof *node), *old;
    node->value = value;
    do {
        old = atomic_load_explicit(&top, memory_order_acquire);
        node->next = old;
    } while (!atomic_compare_exchange_strong_explicit(&top, &old, node, memory_order_acq_rel, memory_order_relaxed));
}

static void *worker(void *arg) {
    push((int)(intptr_t)arg);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}

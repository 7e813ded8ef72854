/* N threads put a node each into a queue of Michael and Scott's kind that has no tail pointer.
 *
 * A thread goes to the last node and links its own node there, or starts again if another one was quicker. An attempt
 * that fails has no effect: N! executions if only those are left in which every exchange succeeds at once. (Kokologiannakis,
 * Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023, Table 2.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef N
#define N 4
#endif

struct node {
    _Atomic(struct node *) next;
    int value;
};

static struct node head;

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node), *last, *next;
    atomic_init(&node->next, NULL);
    node->value = value;
    do {
        last = &head;
        while ((next = atomic_load_explicit(&last->next, memory_order_acquire)))
            last = next;
    } while (!atomic_compare_exchange_strong_explicit(&last->next, &next, node, memory_order_acq_rel,
                                                      memory_order_relaxed));
}

static void *worker(void *arg) {
    enqueue((int)(intptr_t)arg);
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

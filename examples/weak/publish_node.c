// A node that is initialised and then published by a relaxed store of its address: whoever finds it there may find it as
// it was before.
//
//     selvedge check examples/weak/publish_node.c                                     violation
//     selvedge check examples/weak/publish_node.c -D PUBLISH=memory_order_release     verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef PUBLISH
#define PUBLISH memory_order_relaxed
#endif

struct node {
    int value;
};

_Atomic(struct node *) head;

void *producer(void *arg) {
    struct node *node = malloc(sizeof *node);
    node->value = 42;
    atomic_store_explicit(&head, node, PUBLISH);
    return arg;
}

void *consumer(void *arg) {
    struct node *node = atomic_load_explicit(&head, memory_order_acquire);
    if (node)
        assert(node->value == 42);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, producer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(head);
    return 0;
}

// RUN: check
// EXPECT: violation data-race
// EXPECT: message maker initialised it without a release
// What a node held before it was published by a relaxed store is not ordered, not under sequential consistency either.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    int value;
};

static struct node *_Atomic shared;

static void *maker(void *arg) {
    struct node *node = malloc(sizeof *node);
    node->value = 1;
    atomic_store_explicit(&shared, node, memory_order_relaxed);
    return arg;
}

static void *user(void *arg) {
    struct node *node = atomic_load_explicit(&shared, memory_order_acquire);
    if (node)
        node->value++; // HERE
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, maker, 0);
    pthread_create(&b, 0, user, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

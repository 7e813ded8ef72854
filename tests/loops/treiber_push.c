// EXPECT purity: verified complete=5 blocked=3
// EXPECT await: verified complete=5 blocked=2
// EXPECT graph: verified complete=3 blocked=0
// An attempt to push writes into a node that nobody knows before the exchange succeeds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};

static struct node *_Atomic top;

static struct node *new_node(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    return node;
}

static void *pusher(void *arg) {
    struct node *node = new_node(1);
    for (;;) {
        struct node *old = atomic_load_explicit(&top, memory_order_acquire);
        node->next = old;
        if (atomic_compare_exchange_strong_explicit(&top, &old, node, memory_order_release, memory_order_relaxed))
            break;
    }
    return arg;
}

static void *pusher_of_two(void *arg) {
    for (int i = 0; i < 2; i++) {
        struct node *node = new_node(2);
        struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
        do {
            node->next = old;
        } while (!atomic_compare_exchange_weak_explicit(&top, &old, node, memory_order_release, memory_order_relaxed));
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, pusher, 0);
    pthread_create(&b, 0, pusher_of_two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    int sum = 0;
    for (struct node *node = top; node; node = node->next)
        sum += node->value;
    assert(sum == 5);
}

// EXPECT purity: verified complete=2 blocked=2
// EXPECT await: verified complete=2 blocked=2
// EXPECT graph: verified complete=2 blocked=0
// Michael and Scott's queue without its tail: an enqueuer walks to the last node and puts its own behind it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *_Atomic next;
};

static struct node first;

static void *enqueuer(void *arg) {
    struct node *node = malloc(sizeof *node);
    atomic_init(&node->next, NULL);
    for (;;) {
        struct node *last = &first, *next;
        while ((next = atomic_load_explicit(&last->next, memory_order_acquire)))
            last = next;
        if (atomic_compare_exchange_strong_explicit(&last->next, &next, node, memory_order_acq_rel, memory_order_relaxed))
            return arg;
    }
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enqueuer, 0);
    pthread_create(&b, 0, enqueuer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    struct node *second = atomic_load(&first.next);
    assert(second && atomic_load(&second->next) && !atomic_load(&atomic_load(&second->next)->next));
}

// EXPECT purity: verified complete=18 blocked=4
// EXPECT await: verified complete=18 blocked=4
// Treiber's stack: an attempt to push writes into its own node, an attempt to pop writes nothing unless it succeeds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
};

static struct node nodes[2];
static struct node *_Atomic top;

static void *push(void *arg) {
    struct node *node = arg, *old;
    do {
        old = atomic_load(&top);
        atomic_store(&node->next, old);
    } while (!atomic_compare_exchange_strong(&top, &old, node));
    return 0;
}

static struct node *pop(void) {
    for (;;) {
        struct node *old = atomic_load(&top);
        if (!old)
            return NULL;
        struct node *next = atomic_load(&old->next);
        if (atomic_compare_exchange_strong(&top, &old, next))
            return old;
    }
}

static void *popper(void *arg) {
    pop();
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, push, &nodes[0]);
    pthread_create(&b, 0, push, &nodes[1]);
    pthread_create(&c, 0, popper, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    assert(pop());
}

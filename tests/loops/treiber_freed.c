// EXPECT purity: violation use-after-free
// EXPECT await: violation use-after-free
// EXPECT graph: violation use-after-free
// The node that is read has been freed by the one whose exchange came first: only an attempt that fails meets it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *_Atomic next;
};

static struct node *_Atomic top;

static void *popper(void *arg) {
    for (;;) {
        struct node *old = atomic_load(&top);
        struct node *next = atomic_load(&old->next);
        if (atomic_compare_exchange_strong(&top, &old, next)) {
            free(old);
            return arg;
        }
    }
}

int main(void) {
    pthread_t a, b;
    for (int i = 0; i < 2; i++) {
        struct node *node = malloc(sizeof *node);
        atomic_init(&node->next, atomic_load(&top));
        atomic_store(&top, node);
    }
    pthread_create(&a, 0, popper, 0);
    pthread_create(&b, 0, popper, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

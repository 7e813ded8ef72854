// RUN: check
// EXPECT: violation use-after-free
// A stack that frees what it pops, while another thread still holds the pointer.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *_Atomic next;
};

static struct node *_Atomic top;

static void *pop(void *arg) {
    (void)arg;
    struct node *n = atomic_load(&top);
    while (n) {
        struct node *next = atomic_load(&n->next); // HERE
        if (atomic_compare_exchange_strong(&top, &n, next)) {
            free(n);
            break;
        }
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    for (int i = 0; i < 2; i++) {
        struct node *n = malloc(sizeof *n);
        atomic_init(&n->next, atomic_load(&top));
        atomic_store(&top, n);
    }
    pthread_create(&a, 0, pop, 0);
    pthread_create(&b, 0, pop, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

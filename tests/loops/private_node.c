// EXPECT purity: verified complete=6 blocked=21
// EXPECT await: verified complete=6 blocked=15
// EXPECT graph: verified complete=6 blocked=0
// An attempt to push writes into a node that is still private, and the next attempt writes there again: it does nothing.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct node {
    struct node *next;
};

static struct node *_Atomic top;

static void *push(void *arg) {
    struct node *node = malloc(sizeof *node), *old;
    do {
        old = atomic_load(&top);
        node->next = old;
    } while (!atomic_compare_exchange_strong(&top, &old, node));
    return arg;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, push, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

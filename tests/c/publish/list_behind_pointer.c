// RUN: check
// EXPECT: violation data-race
// Publishing the head of a list publishes all of it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};

static _Atomic(struct node *) list;

int main_value;

static struct node *cons(int value, struct node *next) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = next;
    return node;
}

static void *worker(void *arg) {
    (void)arg;
    struct node *node = atomic_load(&list);
    if (node)
        node->next->next->value = 9; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    struct node *third = cons(3, NULL);
    atomic_store(&list, cons(1, cons(2, third)));
    main_value = third->value; // HERE
    pthread_join(t, 0);
}

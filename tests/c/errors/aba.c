// RUN: check
// EXPECT: violation assertion|use-after-free
// The top of a stack is popped, another node too, and the first pushed back: the exchange does not notice.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
    struct node *_Atomic next;
    atomic_int in_use;
};

static struct node a, b;
static struct node *_Atomic top = &a;

static struct node *pop(void) {
    struct node *n = atomic_load(&top);
    while (n && !atomic_compare_exchange_strong(&top, &n, atomic_load(&n->next))) {
    }
    if (n)
        assert(atomic_exchange(&n->in_use, 1) == 0); // HERE
    return n;
}

static void push(struct node *n) {
    atomic_store(&n->in_use, 0);
    struct node *old = atomic_load(&top);
    do
        atomic_store(&n->next, old);
    while (!atomic_compare_exchange_strong(&top, &old, n));
}

static void *one(void *arg) {
    (void)arg;
    pop();
    pop();
    return 0;
}

static void *two(void *arg) {
    (void)arg;
    struct node *first = pop();
    pop();
    if (first)
        push(first);
    return 0;
}

int main(void) {
    pthread_t s, t;
    atomic_init(&a.next, &b);
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
}

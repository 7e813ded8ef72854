// EXPECT purity: verified complete=6 blocked=8
// EXPECT await: verified complete=6 blocked=8
// The queue of Michael and Scott: iterations compare loaded pointers with each other, and help others on.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
};

static struct node nodes[3];
static struct node *_Atomic head = &nodes[2], *_Atomic tail = &nodes[2];

static void *enqueue(void *arg) {
    struct node *node = arg, *last, *next;
    for (;;) {
        last = atomic_load(&tail);
        next = atomic_load(&last->next);
        if (last == atomic_load(&tail)) {
            if (!next) {
                if (atomic_compare_exchange_strong(&last->next, &next, node))
                    break;
            } else {
                atomic_compare_exchange_strong(&tail, &last, next);
            }
        }
    }
    atomic_compare_exchange_strong(&tail, &last, node);
    return 0;
}

static struct node *dequeue(void) {
    for (;;) {
        struct node *first = atomic_load(&head);
        struct node *last = atomic_load(&tail);
        struct node *next = atomic_load(&first->next);
        if (first == atomic_load(&head)) {
            if (!next)
                return NULL;
            if (first == last)
                atomic_compare_exchange_strong(&tail, &last, next);
            else if (atomic_compare_exchange_strong(&head, &first, next))
                return next;
        }
    }
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enqueue, &nodes[0]);
    pthread_create(&b, 0, enqueue, &nodes[1]);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(dequeue() && dequeue() && !dequeue());
}

// EXPECT purity: verified complete=6 blocked=6
// EXPECT await: verified complete=6 blocked=0
// The queue lock of Mellor-Crummey and Scott: each thread spins on a flag of its own, and on the link to its successor.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
    atomic_bool locked;
};

static struct node *_Atomic tail;
static struct node nodes[2];
static int counter;

static void lock(struct node *me) {
    atomic_store(&me->next, NULL);
    atomic_store(&me->locked, true);
    struct node *before = atomic_exchange(&tail, me);
    if (before) {
        atomic_store(&before->next, me);
        while (atomic_load(&me->locked)) {
        }
    }
}

static void unlock(struct node *me) {
    struct node *expected = me;
    if (!atomic_load(&me->next)) {
        if (atomic_compare_exchange_strong(&tail, &expected, NULL))
            return;
        while (!atomic_load(&me->next)) {
        }
    }
    atomic_store(&atomic_load(&me->next)->locked, false);
}

static void *worker(void *arg) {
    struct node *me = arg;
    lock(me);
    counter++;
    unlock(me);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, &nodes[0]);
    pthread_create(&b, 0, worker, &nodes[1]);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(counter == 2);
}

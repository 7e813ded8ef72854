// EXPECT purity: verified complete=2 blocked=2
// EXPECT await: verified complete=2 blocked=0
// The queue lock of Craig, Landin and Hagersten: each thread spins on the node of its predecessor.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct node {
    atomic_int busy;
};

static struct node nodes[3];
static struct node *_Atomic tail = &nodes[2];
static int counter;

static void *worker(void *arg) {
    struct node *me = arg;
    atomic_store(&me->busy, 1);
    struct node *before = atomic_exchange(&tail, me);
    while (atomic_load(&before->busy)) {
    }
    counter++;
    atomic_store(&me->busy, 0);
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

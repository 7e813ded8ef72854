// EXPECT purity: verified complete=2 blocked=2
// EXPECT await: verified complete=2 blocked=0
// A ticket lock: the loop waits for a value that is known before it is entered.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint next_ticket, now_serving;
static int counter;

static void *worker(void *arg) {
    unsigned ticket = atomic_fetch_add(&next_ticket, 1);
    while (atomic_load(&now_serving) != ticket) {
    }
    counter++;
    atomic_store(&now_serving, ticket + 1);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(counter == 2);
}

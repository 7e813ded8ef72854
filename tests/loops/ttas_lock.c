// EXPECT purity: verified complete=4 blocked=4
// EXPECT await: verified complete=4 blocked=0
// Test-and-test-and-set: the inner loop waits for the lock to be free, the exchange for nobody having been faster.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int held;
static int counter;

static void lock(void) {
    for (;;) {
        while (atomic_load_explicit(&held, memory_order_relaxed)) {
        }
        if (!atomic_exchange_explicit(&held, 1, memory_order_acquire))
            return;
    }
}

static void *worker(void *arg) {
    lock();
    counter++;
    atomic_store_explicit(&held, 0, memory_order_release);
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

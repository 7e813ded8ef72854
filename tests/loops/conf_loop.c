// EXPECT purity: verified complete=6 blocked=21
// EXPECT await: verified complete=6 blocked=15
// EXPECT graph: verified complete=6 blocked=0
// Three threads each add one: read, compute, exchange, and start again if another one was faster.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *worker(void *arg) {
    int seen;
    do {
        seen = atomic_load_explicit(&x, memory_order_acquire);
    } while (!atomic_compare_exchange_strong_explicit(&x, &seen, seen + 1, memory_order_acq_rel, memory_order_relaxed));
    return arg;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(x == 3);
}

// EXPECT purity: verified complete=48 blocked=0
// EXPECT await: verified complete=48 blocked=0
// EXPECT graph: verified complete=6 blocked=0
// A failed exchange leaves what it has found for the next attempt; or the thread gives up.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define CAPACITY 4

static atomic_uint used;
static atomic_int refused;

static void *worker(void *arg) {
    unsigned seen = atomic_load_explicit(&used, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&used, &seen, seen + 1, memory_order_acq_rel, memory_order_relaxed)) {
    }
    return arg;
}

static void *careful(void *arg) {
    unsigned seen = atomic_load(&used);
    do {
        if (seen % CAPACITY == CAPACITY - 1) {
            atomic_store(&refused, 1);
            return arg;
        }
    } while (!atomic_compare_exchange_weak(&used, &seen, seen + 1));
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_create(&c, 0, careful, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    assert(used == 3 && !refused);
}

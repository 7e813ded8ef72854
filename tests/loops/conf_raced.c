// EXPECT purity: violation data-race
// EXPECT await: violation data-race
// EXPECT graph: violation data-race
// Whoever takes the word away writes y, and puts the word back. Only an attempt that fails reads y at that time.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int word = 1;
static int y;

static void *reader(void *arg) {
    for (;;) {
        int seen = atomic_load_explicit(&word, memory_order_acquire);
        if (seen == 0)
            return arg;
        int add = __atomic_load_n(&y, __ATOMIC_RELAXED);
        if (atomic_compare_exchange_strong_explicit(&word, &seen, seen + 10 + add, memory_order_acq_rel,
                                                    memory_order_acquire))
            return arg;
    }
}

static void *writer(void *arg) {
    int seen = 1;
    if (atomic_compare_exchange_strong(&word, &seen, 0)) {
        y = 2;
        atomic_store(&word, 3);
    }
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// EXPECT graph: violation livelock
// The inner loop is in a function of its own, and so is what it tests.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int lock = 1, busy = 1, hint;

static int is_held(atomic_int *flag, atomic_int *other) {
    return atomic_load_explicit(flag, memory_order_acquire) == 1 && atomic_load_explicit(other, memory_order_relaxed) == 0;
}

static void wait(atomic_int *flag, atomic_int *other) {
    while (is_held(flag, other)) {
    }
}

static void *waiter(void *arg) {
    while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
        wait(&busy, &hint);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store_explicit(&lock, 0, memory_order_release);
    pthread_join(t, 0);
}

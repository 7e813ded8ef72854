// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// EXPECT graph: violation livelock
// The lock is let go, but who has found it taken waits for something else that never comes.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int lock = 1, busy = 1, hint;

static void *waiter(void *arg) {
    int expected = 0;
    while (!atomic_compare_exchange_strong(&lock, &expected, 1)) {
        expected = 0;
        while (atomic_load(&busy) == 1 && atomic_load(&hint) == 0) {
        }
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&lock, 0);
    pthread_join(t, 0);
}

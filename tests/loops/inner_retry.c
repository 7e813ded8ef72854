// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// A thread waits for two of something, and there is only one. Each look at it begins with the same read, whether or not an
// earlier look had to try again: so who waits there spins forever.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int count = 1, next;

static int take(void) {
    while (atomic_load(&count) > 1) {
        int expected = 1;
        if (atomic_compare_exchange_strong(&next, &expected, 2))
            return 1;
        atomic_exchange(&next, 0);
    }
    return 0;
}

static void *taker(void *arg) {
    while (!take()) {
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, taker, 0);
    atomic_store(&next, 1);
    pthread_join(t, 0);
}

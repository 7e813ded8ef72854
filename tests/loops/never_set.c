// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// A flag that nobody sets: whoever waits for it spins forever.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag, other;

static void *waiter(void *arg) {
    while (!atomic_load(&flag)) {
    }
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, waiter, 0);
    atomic_store(&other, 1);
    pthread_join(a, 0);
}

// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// Who has seen that x is not set waits for y, which nobody sets. That x is set meanwhile does not help: an iteration must not
// be left out because it would be pure if it ever got past the wait in it.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waiter(void *arg) {
    while (!atomic_load(&x)) {
        while (!atomic_load(&y)) {
        }
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&x, 1);
    pthread_join(t, 0);
}

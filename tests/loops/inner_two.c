// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// EXPECT graph: violation livelock
// Who has seen that x is not set waits until y or z is set, which nobody does. That x is set meanwhile does not help, and is no
// part of what the inner loop reads.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *waiter(void *arg) {
    while (!atomic_load(&x)) {
        while (!atomic_load(&y) && !atomic_load(&z)) {
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

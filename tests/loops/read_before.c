// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// EXPECT graph: violation livelock
// What is read in front of a loop and changes later does not help whoever is in the loop.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *waiter(void *arg) {
    if (!atomic_load(&x)) {
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

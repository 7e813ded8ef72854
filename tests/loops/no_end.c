// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// A thread that can never leave its loop spins forever, whatever the others do.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *spinner(void *arg) {
    for (;;)
        (void)atomic_load(&x);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, spinner, 0);
    atomic_store(&x, 1);
    pthread_join(a, 0);
}

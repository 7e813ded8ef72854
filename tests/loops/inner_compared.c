// EXPECT purity: violation livelock
// EXPECT await: violation livelock
// EXPECT graph: violation livelock
// Whether an iteration of the loop changes nothing is seen when it is complete: it reads in a function
// that is not known.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, flags[2] = {1, 0};

static int get(int n) {
    return atomic_load(&flags[n]);
}

static void *waiter(void *arg) {
    int (*look)(int) = (int (*)(int))arg;
    if (!atomic_load(&x)) {
        while (look(0) && !look(look(0))) {
        }
    }
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, (void *)get);
    atomic_store(&x, 1);
    pthread_join(t, 0);
}

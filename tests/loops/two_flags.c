// EXPECT purity: verified complete=1 blocked=1
// EXPECT await: verified complete=1 blocked=1
// Two ways out: a thread that waits for the second flag would look at the first one again, so it does not spin forever.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int first, second;

static void *waiter(void *arg) {
    while (!atomic_load(&first) && !atomic_load(&second)) {
    }
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, waiter, 0);
    atomic_store(&first, 1);
    pthread_join(a, 0);
}

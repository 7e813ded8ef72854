// EXPECT purity: verified complete=1 blocked=2
// EXPECT await: verified complete=1 blocked=1
// EXPECT graph: verified complete=1 blocked=0
// The inner loop reads two things, and one of them is set in the end.
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
    atomic_store(&z, 1);
    pthread_join(t, 0);
}

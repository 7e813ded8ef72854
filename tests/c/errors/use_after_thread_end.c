// RUN: check
// EXPECT: violation use-after-free
// A thread publishes its local variable and ends before it is read.
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(int *) shared;

static void *worker(void *arg) {
    (void)arg;
    int local = 1;
    atomic_store(&shared, &local);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    return *atomic_load(&shared) != 1; // HERE
}

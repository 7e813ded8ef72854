// RUN: check
// EXPECT: violation assertion
// Waiting a while is not waiting for something.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int x;

static void *worker(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    usleep(100000);
    assert(atomic_load(&x) == 1); // HERE
    pthread_join(t, 0);
}

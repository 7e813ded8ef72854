// RUN: check
// EXPECT: verified complete=2 blocked=0
// A detached thread runs on its own, before or after main's read.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *worker(void *arg) {
    (void)arg;
    pthread_detach(pthread_self());
    atomic_store(&x, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    return atomic_load(&x) > 1;
}

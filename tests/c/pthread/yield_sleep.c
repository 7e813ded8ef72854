// RUN: check
// EXPECT: verified complete=2 blocked=0
// Sleeping and yielding are no synchronisation and no events.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int x;

static void *worker(void *arg) {
    (void)arg;
    usleep(1000);
    atomic_store(&x, 1);
    sched_yield();
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    sleep(1);
    sched_yield();
    int seen = atomic_load(&x);
    pthread_join(t, 0);
    return seen > 1;
}

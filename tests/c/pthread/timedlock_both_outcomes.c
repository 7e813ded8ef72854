// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// With a lock that is released in the meantime both outcomes are possible.
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    (void)arg;
    struct timespec soon = {1, 0};
    int timed_out = pthread_mutex_timedlock(&m, &soon) != 0;
    if (timed_out)
        assert(!timed_out); // HERE
    else
        assert(timed_out); // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_mutex_lock(&m);
    pthread_create(&t, 0, worker, 0);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
}

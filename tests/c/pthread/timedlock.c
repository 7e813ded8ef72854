// RUN: check
// EXPECT: verified
// A timed lock of a mutex that is never released times out; there is no deadlock.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg) {
    (void)arg;
    struct timespec soon = {1, 0};
    assert(pthread_mutex_timedlock(&m, &soon) == ETIMEDOUT);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_mutex_lock(&m);
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    pthread_mutex_unlock(&m);
}

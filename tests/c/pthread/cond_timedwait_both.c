// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// With a signal under way, a timed wait may end either way.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *signaller(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t t;
    struct timespec soon = {1, 0};
    pthread_create(&t, 0, signaller, 0);
    pthread_mutex_lock(&m);
    int timed_out = pthread_cond_timedwait(&c, &m, &soon) == ETIMEDOUT;
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
    if (timed_out)
        assert(!timed_out); // HERE
    else
        assert(timed_out); // HERE
}

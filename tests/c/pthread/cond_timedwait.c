// RUN: check
// EXPECT: verified
// Nobody signals: a timed wait ends by itself, and holds the lock again.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

int main(void) {
    struct timespec soon = {1, 0};
    pthread_mutex_lock(&m);
    assert(pthread_cond_timedwait(&c, &m, &soon) == ETIMEDOUT);
    assert(pthread_mutex_trylock(&m) == EBUSY);
    pthread_mutex_unlock(&m);
}

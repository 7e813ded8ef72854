// RUN: check
// EXPECT: verified complete=1 blocked=0
// An error-checking mutex answers instead of misbehaving.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t m;

static void *stranger(void *arg) {
    (void)arg;
    assert(pthread_mutex_unlock(&m) == EPERM);
    assert(pthread_mutex_trylock(&m) == EBUSY);
    return 0;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    assert(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK) == 0);
    pthread_mutex_init(&m, &attr);
    assert(pthread_mutex_unlock(&m) == EPERM);
    assert(pthread_mutex_lock(&m) == 0);
    assert(pthread_mutex_lock(&m) == EDEADLK);
    pthread_t t;
    pthread_create(&t, 0, stranger, 0);
    pthread_join(t, 0);
    assert(pthread_mutex_unlock(&m) == 0);
}

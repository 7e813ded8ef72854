// RUN: check
// EXPECT: verified complete=2 blocked=0
// A recursive mutex can be locked again by its owner, and is free after as many unlocks.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m;
static int depth;

static void enter(int n) {
    assert(pthread_mutex_lock(&m) == 0);
    assert(depth++ == 3 - n);
    if (n > 1)
        enter(n - 1);
    depth--;
    assert(pthread_mutex_unlock(&m) == 0);
}

static void *worker(void *arg) {
    (void)arg;
    enter(3);
    return 0;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(pthread_mutex_destroy(&m) == 0);
}

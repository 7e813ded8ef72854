// RUN: check
// EXPECT: violation deadlock
// A thread ends while it holds the lock.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *forgetful(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, forgetful, 0);
    pthread_join(t, 0);
    pthread_mutex_lock(&m); // HERE
}

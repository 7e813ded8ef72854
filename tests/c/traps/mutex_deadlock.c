// RUN: check --all
// EXPECT: violation deadlock
// EXPECT: executions 3
// Two mutexes taken in different orders: the execution in which both threads wait is a violation, not one of the count.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&n); // HERE
    pthread_mutex_unlock(&n);
    pthread_mutex_unlock(&m);
    return 0;
}

static void *two(void *arg) {
    (void)arg;
    pthread_mutex_lock(&n);
    pthread_mutex_lock(&m); // HERE
    pthread_mutex_unlock(&m);
    pthread_mutex_unlock(&n);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
}

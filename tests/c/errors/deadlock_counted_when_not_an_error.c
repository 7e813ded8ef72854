// RUN: check --no-deadlocks
// EXPECT: verified complete=2 blocked=1
// Without deadlocks as errors, the one deadlock is a blocked execution.
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *ab(void *arg) {
    (void)arg;
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return 0;
}

static void *ba(void *arg) {
    (void)arg;
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, ab, 0);
    pthread_create(&t, 0, ba, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
}

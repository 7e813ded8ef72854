// RUN: check
// EXPECT: violation lock-misuse
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *thief(void *arg) {
    (void)arg;
    pthread_mutex_unlock(&m); // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_mutex_lock(&m);
    pthread_create(&t, 0, thief, 0);
    pthread_join(t, 0);
}

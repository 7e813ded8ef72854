// RUN: check
// EXPECT: verified
// exit() in a thread ends the process: main, which waits for another thread, is not deadlocked.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *quit(void *arg) {
    (void)arg;
    exit(0);
}

static void *stuck(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_mutex_lock(&m);
    pthread_create(&a, 0, quit, 0);
    pthread_create(&b, 0, stuck, 0);
    pthread_join(b, 0);
}

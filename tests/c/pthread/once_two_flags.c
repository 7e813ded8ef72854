// RUN: check
// EXPECT: violation deadlock
// Two initialisers that need each other's flag.
#include <pthread.h>

static pthread_once_t a = PTHREAD_ONCE_INIT, b = PTHREAD_ONCE_INIT;

static void nothing(void) {}

static void init_a(void) {
    pthread_once(&b, nothing);
}

static void init_b(void) {
    pthread_once(&a, nothing);
}

static void *worker(void *arg) {
    (void)arg;
    pthread_once(&a, init_a);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_once(&b, init_b);
    pthread_join(t, 0);
}

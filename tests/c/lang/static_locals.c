// RUN: check
// EXPECT: violation data-race
// A static local variable is shared by all threads.
#include <pthread.h>

static int next(void) {
    static int n = 10;
    return n++; // HERE
}

static void *worker(void *arg) {
    (void)arg;
    next();
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    next();
    pthread_join(t, 0);
}

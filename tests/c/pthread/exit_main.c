// RUN: check
// EXPECT: violation assertion
// pthread_exit in main lets the other threads go on: their errors count.
#include <assert.h>
#include <pthread.h>

static void *worker(void *arg) {
    assert(arg != 0); // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    pthread_exit(0);
}

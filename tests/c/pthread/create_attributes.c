// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <pthread.h>

static void *worker(void *arg) {
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_attr_t attr;
    int state;
    assert(pthread_attr_init(&attr) == 0);
    assert(pthread_attr_getdetachstate(&attr, &state) == 0 && state == PTHREAD_CREATE_JOINABLE);
    assert(pthread_create(&t, &attr, worker, 0) == 0);
    pthread_join(t, 0);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    assert(pthread_create(&t, &attr, worker, 0) == 0);
    pthread_attr_destroy(&attr);
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <pthread.h>

int main(void) {
    pthread_cond_t c;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    assert(pthread_cond_init(&c, &attr) == 0);
    assert(pthread_cond_signal(&c) == 0);
    assert(pthread_cond_broadcast(&c) == 0);
    assert(pthread_cond_destroy(&c) == 0);
    pthread_condattr_destroy(&attr);
}

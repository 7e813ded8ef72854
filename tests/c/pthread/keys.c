// RUN: check
// EXPECT: verified complete=1 blocked=0
// Each thread has its own value under a key, null at first.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static pthread_key_t key;

static void *worker(void *arg) {
    assert(pthread_getspecific(key) == 0);
    assert(pthread_setspecific(key, arg) == 0);
    assert(pthread_getspecific(key) == arg);
    return pthread_getspecific(key);
}

int main(void) {
    pthread_t t[2];
    assert(pthread_key_create(&key, 0) == 0);
    pthread_setspecific(key, (void *)7);
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, (void *)(i + 1));
    for (intptr_t i = 0; i < 2; i++) {
        void *result;
        pthread_join(t[i], &result);
        assert(result == (void *)(i + 1));
    }
    assert(pthread_getspecific(key) == (void *)7);
    assert(pthread_key_delete(key) == 0);
}

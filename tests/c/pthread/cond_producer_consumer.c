// RUN: check
// EXPECT: verified
// Two producers and a consumer over a buffer of one, with two condition variables.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int slot, sum;

static void *producer(void *arg) {
    pthread_mutex_lock(&m);
    while (slot)
        pthread_cond_wait(&empty, &m);
    slot = (int)(intptr_t)arg;
    pthread_cond_signal(&full);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, producer, (void *)1);
    pthread_create(&b, 0, producer, (void *)2);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        while (!slot)
            pthread_cond_wait(&full, &m);
        sum += slot;
        slot = 0;
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&m);
    }
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(sum == 3);
}

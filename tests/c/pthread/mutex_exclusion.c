// RUN: check
// EXPECT: verified complete=6 blocked=0
// Three threads, one lock: one trace per order.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int inside, last;

static void *worker(void *arg) {
    pthread_mutex_lock(&m);
    assert(inside == 0);
    inside = 1;
    last = (int)(intptr_t)arg;
    inside = 0;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t t[3];
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    assert(last >= 1 && last <= 3);
}

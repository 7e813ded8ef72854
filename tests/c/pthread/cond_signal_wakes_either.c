// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// With two that wait, a signal can wake the one or the other.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, woken;

static void *waiter(void *arg) {
    pthread_mutex_lock(&m);
    waiting++;
    pthread_cond_wait(&c, &m);
    if (!woken)
        woken = (int)(intptr_t)arg;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, waiter, (void *)1);
    pthread_create(&b, 0, waiter, (void *)2);
    pthread_mutex_lock(&m);
    int both = waiting == 2;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    if (!both)
        return 0;
    pthread_mutex_lock(&m);
    int first = woken;
    pthread_mutex_unlock(&m);
    if (first == 1)
        assert(first != 1); // HERE
    if (first == 2)
        assert(first != 2); // HERE
}

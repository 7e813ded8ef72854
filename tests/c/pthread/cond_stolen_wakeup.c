// RUN: check
// EXPECT: violation assertion
// The one that is woken comes too late: another thread has taken the item. `if` is not enough even without spurious
// wake-ups.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int items;

static void *consumer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    if (items == 0)
        pthread_cond_wait(&c, &m);
    items--;
    assert(items >= 0); // HERE
    pthread_mutex_unlock(&m);
    return 0;
}

static void *producer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    items++;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t t[4];
    pthread_create(&t[0], 0, consumer, 0);
    pthread_create(&t[1], 0, consumer, 0);
    pthread_create(&t[2], 0, producer, 0);
    pthread_create(&t[3], 0, producer, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
}

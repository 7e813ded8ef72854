// RUN: check
// EXPECT: violation deadlock
// The flag is set without the lock: the signal can fall between the test and the wait.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static atomic_int ready;

static void *producer(void *arg) {
    (void)arg;
    atomic_store(&ready, 1);
    pthread_cond_signal(&c);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, producer, 0);
    pthread_mutex_lock(&m);
    while (!atomic_load(&ready))
        pthread_cond_wait(&c, &m); // HERE
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
}

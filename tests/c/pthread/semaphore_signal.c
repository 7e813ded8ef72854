// RUN: check
// EXPECT: verified complete=1 blocked=0
// A post hands over plain data.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t s;
static int data;

static void *producer(void *arg) {
    (void)arg;
    data = 42;
    sem_post(&s);
    return 0;
}

int main(void) {
    pthread_t t;
    sem_init(&s, 0, 0);
    pthread_create(&t, 0, producer, 0);
    sem_wait(&s);
    assert(data == 42);
    pthread_join(t, 0);
}

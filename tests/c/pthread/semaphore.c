// RUN: check
// EXPECT: verified
// A semaphore of two lets two in, and orders what the others left.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t s;
static atomic_int inside;

static void *worker(void *arg) {
    (void)arg;
    sem_wait(&s);
    assert(atomic_fetch_add(&inside, 1) < 2);
    atomic_fetch_sub(&inside, 1);
    sem_post(&s);
    return 0;
}

int main(void) {
    pthread_t t[3];
    assert(sem_init(&s, 0, 2) == 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    int value;
    assert(sem_getvalue(&s, &value) == 0 && value == 2);
    assert(sem_destroy(&s) == 0);
}

// RUN: check
// EXPECT: violation deadlock
// Two waits and one post.
#include <pthread.h>
#include <semaphore.h>

static sem_t s;

static void *worker(void *arg) {
    (void)arg;
    sem_wait(&s); // HERE
    return 0;
}

int main(void) {
    pthread_t a, b;
    sem_init(&s, 0, 1);
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

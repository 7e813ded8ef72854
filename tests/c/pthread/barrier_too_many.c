// RUN: check
// EXPECT: violation deadlock
// Three are expected, two come.
#include <pthread.h>

static pthread_barrier_t b;

static void *worker(void *arg) {
    (void)arg;
    pthread_barrier_wait(&b); // HERE
    return 0;
}

int main(void) {
    pthread_t t[2];
    pthread_barrier_init(&b, 0, 3);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
}

// RUN: check
// EXPECT: violation data-race
// The classic mistake: all threads get the address of the loop variable.
#include <pthread.h>

static void *worker(void *arg) {
    int me = *(int *)arg; // HERE
    return me < 0 ? arg : 0;
}

int main(void) {
    pthread_t t[2];
    int i;
    for (i = 0; i < 2; i++) // HERE
        pthread_create(&t[i], 0, worker, &i);
    for (int j = 0; j < 2; j++)
        pthread_join(t[j], 0);
}

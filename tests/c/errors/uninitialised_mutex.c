// RUN: check
// EXPECT: violation lock-misuse|uninitialised-read
// A mutex on the heap that was never initialised.
#include <pthread.h>
#include <stdlib.h>

int main(void) {
    pthread_mutex_t *m = malloc(sizeof *m);
    pthread_mutex_lock(m); // HERE
    pthread_mutex_unlock(m);
    free(m);
}

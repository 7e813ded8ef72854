// RUN: check
// EXPECT: violation data-race
// The address of a thread-local variable can be given away.
#include <pthread.h>

static _Thread_local int mine;

static void *worker(void *arg) {
    *(int *)arg = 1; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, &mine);
    mine = 2; // HERE
    pthread_join(t, 0);
}

// RUN: check --leaks
// EXPECT: violation leak
// The block is lost only if the worker looks before the pointer is set. (What a global still points to is no leak.)
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) mailbox;

static void *worker(void *arg) {
    (void)arg;
    free(atomic_exchange(&mailbox, NULL));
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    atomic_store(&mailbox, malloc(sizeof(int))); // HERE
    pthread_join(t, 0);
    atomic_store(&mailbox, NULL);
}

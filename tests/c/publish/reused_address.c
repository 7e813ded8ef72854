// RUN: check --leaks
// EXPECT: verified
// Blocks are made and freed in both threads; what one frees is never what the other has.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_int turn;

static void *worker(void *arg) {
    for (int i = 0; i < 2; i++) {
        int *p = malloc(sizeof *p);
        *p = (int)(intptr_t)arg;
        atomic_fetch_add(&turn, 1);
        assert(*p == (int)(intptr_t)arg);
        free(p);
    }
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, worker, (void *)1);
    pthread_create(&t, 0, worker, (void *)2);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(turn == 4);
}

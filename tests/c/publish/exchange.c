// RUN: check --leaks
// EXPECT: verified
// Two threads swap their objects through one cell: each uses what it gets, alone.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic(int *) cell;

static void *swap(void *arg) {
    int *mine = malloc(sizeof *mine);
    *mine = (int)(intptr_t)arg;
    int *theirs = atomic_exchange(&cell, mine);
    if (theirs) {
        assert(*theirs != (int)(intptr_t)arg);
        *theirs = 0;
        free(theirs);
    }
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, swap, (void *)1);
    pthread_create(&t, 0, swap, (void *)2);
    pthread_join(s, 0);
    pthread_join(t, 0);
    free(atomic_load(&cell));
}

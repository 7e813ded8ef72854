// RUN: check --leaks
// EXPECT: verified
// A pointer with a mark in its lowest bit, as in lock-free lists.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic uintptr_t shared;

static void *mark(void *arg) {
    (void)arg;
    uintptr_t old = atomic_fetch_or(&shared, 1);
    assert((old & 1) == 0);
    int *p = (int *)old;
    assert(*p == 7);
    return 0;
}

int main(void) {
    pthread_t t;
    int *p = malloc(sizeof *p);
    *p = 7;
    atomic_init(&shared, (uintptr_t)p);
    pthread_create(&t, 0, mark, 0);
    uintptr_t seen = atomic_load(&shared);
    assert(*(int *)(seen & ~(uintptr_t)1) == 7);
    pthread_join(t, 0);
    assert(atomic_load(&shared) == ((uintptr_t)p | 1));
    free((int *)(atomic_load(&shared) & ~(uintptr_t)1));
}

// RUN: check
// EXPECT: verified
// Addresses differ between objects and are the same in every execution, whatever was allocated before.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_int order;
static _Atomic uintptr_t address[2];

static void *worker(void *arg) {
    intptr_t me = (intptr_t)arg;
    if (atomic_fetch_add(&order, 1) == 0)
        free(malloc(64));
    int *p = malloc(sizeof *p);
    *p = (int)me;
    atomic_store(&address[me], (uintptr_t)p);
    uintptr_t other = atomic_load(&address[1 - me]);
    assert(other != (uintptr_t)p);
    assert(*p == me);
    return p;
}

int main(void) {
    pthread_t t[2];
    void *p[2];
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], &p[i]);
    assert(p[0] != p[1]);
    free(p[0]);
    free(p[1]);
}

// RUN: check --leaks
// EXPECT: verified
// A pointer with a counter in its upper 16 bits, against ABA.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic uint64_t head;

static int *pointer(uint64_t word) {
    return (int *)(uintptr_t)(word & 0xffffffffffffull);
}

static void *worker(void *arg) {
    int *mine = malloc(sizeof *mine);
    *mine = (int)(intptr_t)arg;
    uint64_t old = atomic_load(&head), new;
    do {
        if (pointer(old))
            assert(*pointer(old) == 1 || *pointer(old) == 2);
        new = ((old >> 48) + 1) << 48 | (uint64_t)(uintptr_t)mine;
    } while (!atomic_compare_exchange_strong(&head, &old, new));
    return pointer(old);
}

int main(void) {
    pthread_t s, t;
    void *a, *b;
    pthread_create(&s, 0, worker, (void *)1);
    pthread_create(&t, 0, worker, (void *)2);
    pthread_join(s, &a);
    pthread_join(t, &b);
    assert(atomic_load(&head) >> 48 == 2);
    free(a);
    free(b);
    free(pointer(atomic_load(&head)));
}

// RUN: check
// EXPECT: violation double-free
// Both threads see the pointer before either has cleared it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) shared;

static void *drop(void *arg) {
    (void)arg;
    int *p = atomic_load(&shared);
    atomic_store(&shared, NULL);
    free(p); // HERE
    return 0;
}

int main(void) {
    pthread_t a, b;
    atomic_init(&shared, malloc(sizeof(int)));
    pthread_create(&a, 0, drop, 0);
    pthread_create(&b, 0, drop, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

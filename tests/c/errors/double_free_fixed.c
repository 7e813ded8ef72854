// RUN: check --leaks
// EXPECT: verified complete=2 blocked=0
// An exchange gives the pointer to one of them only; free(NULL) does nothing.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) shared;

static void *drop(void *arg) {
    (void)arg;
    free(atomic_exchange(&shared, NULL));
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

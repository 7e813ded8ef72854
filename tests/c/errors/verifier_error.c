// RUN: check
// EXPECT: violation assertion|abort
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_error(void);

static atomic_int x;

static void *set(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, set, 0);
    if (atomic_load(&x))
        __VERIFIER_error(); // HERE
    pthread_join(t, 0);
}

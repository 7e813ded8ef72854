// RUN: check --nondet 0..2
// EXPECT: verified complete=6 blocked=0
// A choice of three behind a read that sees one of two values.
#include <pthread.h>
#include <stdatomic.h>

int __VERIFIER_nondet_int(void);

static atomic_int x;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int seen = atomic_load(&x);
    int chosen = __VERIFIER_nondet_int();
    pthread_join(t, 0);
    return seen + chosen > 3;
}

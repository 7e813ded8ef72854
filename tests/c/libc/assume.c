// RUN: check
// EXPECT: verified complete=1 blocked=1
// The reader goes on only if it sees the store.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_assume(int);

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
    __VERIFIER_assume(seen == 1);
    assert(seen == 1);
    pthread_join(t, 0);
}

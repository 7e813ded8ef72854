// RUN: check
// EXPECT: verified complete=3 blocked=0
// A read between two writes of another thread.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    atomic_store(&x, 0);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int seen = atomic_load(&x);
    assert(seen == 0 || seen == 1);
    pthread_join(t, 0);
    assert(x == 0);
}

// RUN: check
// EXPECT: verified complete=3 blocked=0
// Store buffering: under sequential consistency at least one thread sees the other's store.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, a, b;

static void *one(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    int seen = atomic_load(&y);
    atomic_store_explicit(&a, seen, memory_order_relaxed);
    return 0;
}

static void *two(void *arg) {
    (void)arg;
    atomic_store(&y, 1);
    int seen = atomic_load(&x);
    atomic_store_explicit(&b, seen, memory_order_relaxed);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(a || b);
}

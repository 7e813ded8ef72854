// RUN: check --engine graph --model rc11
// EXPECT: incomplete
// EXPECT[purity]: violation assertion
// Two threads wait for the same store, and are let go together. That the first one fails then must not be lost, though the
// other one goes on.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int told, other;

static void wait(void) {
    while (atomic_load_explicit(&told, memory_order_acquire) == 0) {
    }
}

static void *fails(void *unused) {
    wait();
    assert(0);
    return unused;
}

static void *goes_on(void *unused) {
    wait();
    atomic_store_explicit(&other, 1, memory_order_relaxed);
    return unused;
}

static void *tells(void *unused) {
    atomic_store_explicit(&told, 1, memory_order_release);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, fails, NULL);
    pthread_create(&threads[1], NULL, goes_on, NULL);
    pthread_create(&threads[2], NULL, tells, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

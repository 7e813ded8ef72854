// RUN: check --all --engine graph --model rc11
// EXPECT: violation assertion
// EXPECT: violation assertion
// What fails with the second choice is a failure of its own, though another thread has failed before.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

extern _Bool __VERIFIER_nondet_bool(void);

static atomic_int told, done, seen;

static void *looks(void *unused) {
    if (atomic_load_explicit(&told, memory_order_relaxed) == 0) {
        atomic_store_explicit(&seen, 1, memory_order_relaxed);
    }
    return unused;
}

static void *fails(void *unused) {
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    assert(0 && "always"); // HERE
    return unused;
}

static void *chooses(void *unused) {
    if (atomic_load_explicit(&seen, memory_order_relaxed) == 1) {
        _Bool chosen = __VERIFIER_nondet_bool();
        assert(!chosen && "sometimes"); // HERE
    }
    return unused;
}

static void *tells(void *unused) {
    atomic_store_explicit(&told, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    void *(*const bodies[])(void *) = {looks, fails, chooses, tells};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

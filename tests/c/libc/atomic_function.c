// RUN: check
// EXPECT: verified complete=2 blocked=0
// A function whose name starts with __VERIFIER_atomic_ is one step.
#include <assert.h>
#include <pthread.h>

static int x;

void __VERIFIER_atomic_inc(void) {
    int old = x;
    x = old + 1;
}

static void *worker(void *arg) {
    (void)arg;
    __VERIFIER_atomic_inc();
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, worker, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(x == 2);
}

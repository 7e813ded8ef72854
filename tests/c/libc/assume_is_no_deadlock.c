// RUN: check
// EXPECT: verified
// Somebody who waits for a thread that is blocked in an assumption is not deadlocked.
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_assume(int);

static atomic_int x;

static void *stuck(void *arg) {
    (void)arg;
    __VERIFIER_assume(atomic_load(&x) == 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, stuck, 0);
    pthread_join(t, 0);
}

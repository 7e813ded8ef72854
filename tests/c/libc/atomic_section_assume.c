// RUN: check
// EXPECT: verified
// A lock made of a section with an assumption: test and set in one step.
#include <assert.h>
#include <pthread.h>

void __VERIFIER_assume(int);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

static int locked, inside;

static void *worker(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
    __VERIFIER_assume(locked == 0);
    locked = 1;
    __VERIFIER_atomic_end();
    assert(inside == 0);
    inside = 1;
    inside = 0;
    __VERIFIER_atomic_begin();
    locked = 0;
    __VERIFIER_atomic_end();
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, worker, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
}

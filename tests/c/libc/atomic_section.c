// RUN: check
// EXPECT: verified complete=2 blocked=0
// Two sections are two steps, whatever is in them.
#include <assert.h>
#include <pthread.h>

void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

static int a, b;

static void *worker(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
    a++;
    b++;
    assert(a == b);
    __VERIFIER_atomic_end();
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, worker, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(a == 2 && b == 2);
}

// RUN: check --all
// EXPECT: violation assertion
// Four traces: one after the other in either order gives 2, the other two lose an update. One distinct violation.
// EXPECT: executions 4
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *inc(void *arg) {
    (void)arg;
    int seen = atomic_load(&x);
    atomic_store(&x, seen + 1);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, inc, 0);
    pthread_create(&b, 0, inc, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(x == 2); // HERE
}

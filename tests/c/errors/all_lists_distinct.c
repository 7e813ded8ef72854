// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// Two different assertions fail, in different executions: --all lists both.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *set(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, set, 0);
    int seen = atomic_load(&x);
    if (seen)
        assert(seen != 1); // HERE
    else
        assert(seen != 0); // HERE
    pthread_join(a, 0);
}

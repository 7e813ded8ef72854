// EXPECT purity: violation assertion
// EXPECT await: violation assertion
// Of two bounds on one value the stronger counts: 3 and 4 leave the loop, and then the assertion fails.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint v;

static void *waiter(void *arg) {
    unsigned seen;
    do {
        seen = atomic_load(&v);
    } while (seen < 3 && seen < 5);
    assert(seen != 4);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, waiter, 0);
    atomic_store(&v, 4);
    pthread_join(a, 0);
}

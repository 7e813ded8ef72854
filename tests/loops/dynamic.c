// EXPECT purity: verified
// EXPECT await: verified
// The address that is polled is computed by a function that is called through a pointer: that nothing happens in an
// iteration can only be seen when it is over.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag;

static int is_set(atomic_int *at) { return atomic_load(at); }
static int (*test)(atomic_int *) = is_set;

static void *waiter(void *arg) {
    while (!test(&flag)) {
    }
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, waiter, 0);
    atomic_store(&flag, 1);
    pthread_join(a, 0);
}

// RUN: check --unroll 3
// EXPECT: verified
// EXPECT: not-covered loop
// EXPECT[purity]: verified
// A loop that is left when either of two variables is set, and one is: nobody spins forever, though an iteration that began
// too early is cut off.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int a, b;

static void *setter(void *arg) {
    (void)arg;
    atomic_store(&a, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, setter, 0);
    while (!atomic_load(&a) && !atomic_load(&b)) {
    }
    pthread_join(t, 0);
}

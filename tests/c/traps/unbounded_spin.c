// RUN: check
// EXPECT: incomplete
// EXPECT: not-covered bound
// EXPECT[purity]: verified
// A spin loop without any bound given ends at the default ones, and says so; without its idle iterations it ends.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *setter(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, setter, 0);
    while (!atomic_load(&x)) {
    }
    pthread_join(t, 0);
}

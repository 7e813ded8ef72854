// RUN: check --unroll 3
// EXPECT: verified
// EXPECT: not-covered loop
// EXPECT[purity]: violation livelock
// EXPECT[purity]: message spins forever
// A loop that does nothing for ever is reported: by its bound, or as what it is.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *spin(void *arg) {
    (void)arg;
    for (;;)
        atomic_load(&x);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, spin, 0);
    atomic_store(&x, 1);
    pthread_join(t, 0);
}

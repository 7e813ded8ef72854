// RUN: check --unroll 3
// EXPECT: verified
// EXPECT: not-covered loop
// EXPECT[purity]: violation livelock
// EXPECT[purity]: message spinner spins forever
// A loop that reads two variables, which nobody sets: whoever is cut off in it would read the same again.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int a, b, other;

static void *spinner(void *arg) {
    (void)arg;
    while (!atomic_load(&a) && !atomic_load(&b)) {
    }
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, spinner, 0);
    atomic_store(&other, 1);
    pthread_join(t, 0);
}

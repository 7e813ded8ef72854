// RUN: check --unroll 3
// EXPECT: verified
// EXPECT: not-covered loop
// EXPECT[purity]: violation livelock
// EXPECT[purity]: message spin forever
// Two threads that wait for each other in loops: without a reduction the bound says so, and without their idle
// iterations it is a violation.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int a, b;

static void *one(void *arg) {
    (void)arg;
    while (!atomic_load(&a)) {
    }
    atomic_store(&b, 1);
    return 0;
}

static void *two(void *arg) {
    (void)arg;
    while (!atomic_load(&b)) {
    }
    atomic_store(&a, 1);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
}

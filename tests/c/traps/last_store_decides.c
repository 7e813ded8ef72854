// RUN: check --unroll 3
// EXPECT: verified
// EXPECT: not-covered loop
// EXPECT[purity]: violation livelock
// Nobody reads what the two writers store, but the loop would read it again: it is left only if 2 comes last.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x = 1, y;

static void *one(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

static void *two(void *arg) {
    (void)arg;
    atomic_store(&x, 2);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, two, 0);
    pthread_create(&t, 0, one, 0);
    while (atomic_load(&x) + atomic_load(&y) == 1) {
    }
    pthread_join(s, 0);
    pthread_join(t, 0);
}

// RUN: check --unroll 3
// EXPECT: violation assertion
// The loop goes on while v < 3 and v < 5, that is while v < 3: it can be left with 4.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&x, 4);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int v;
    do {
        v = atomic_load(&x);
        if (v >= 3)
            break;
    } while (v < 5);
    assert(v != 4); // HERE
    pthread_join(t, 0);
}

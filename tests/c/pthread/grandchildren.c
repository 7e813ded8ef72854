// RUN: check
// EXPECT: verified complete=2 blocked=0
// A thread that creates a thread.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *grandchild(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
    return 0;
}

static void *child(void *arg) {
    pthread_t t;
    pthread_create(&t, 0, grandchild, arg);
    atomic_fetch_add(&x, 2);
    pthread_join(t, 0);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, child, 0);
    pthread_join(t, 0);
    assert(x == 3);
}

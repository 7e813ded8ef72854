// RUN: check
// EXPECT: verified
// Two threads create one thread each. Who is created first differs, but each keeps its own child.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int x, sum;

static void *child(void *arg) {
    atomic_fetch_add(&sum, (int)(intptr_t)arg);
    return arg;
}

static void *parent(void *arg) {
    pthread_t t;
    void *result;
    atomic_fetch_add(&x, 1);
    pthread_create(&t, 0, child, arg);
    atomic_fetch_add(&x, 1);
    pthread_join(t, &result);
    assert(result == arg);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, parent, (void *)1);
    pthread_create(&t, 0, parent, (void *)10);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(sum == 11 && x == 4);
}

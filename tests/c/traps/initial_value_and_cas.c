// RUN: check
// EXPECT: verified complete=6 blocked=0
// An exchange on a variable that is 1 at first: it succeeds before both stores, and is a read between or after them.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x = 1;

static void *two(void *arg) {
    (void)arg;
    atomic_store(&x, 2);
    return 0;
}

static void *three(void *arg) {
    (void)arg;
    atomic_store(&x, 3);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, two, 0);
    pthread_create(&t, 0, three, 0);
    int expected = 1;
    int done = atomic_compare_exchange_strong(&x, &expected, 4);
    assert(done ? expected == 1 : expected == 2 || expected == 3);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(x == 2 || x == 3);
}

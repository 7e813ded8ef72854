// RUN: check
// EXPECT: verified complete=6 blocked=0
// The exchange succeeds after both additions only: its outcome has to be computed anew when it is moved.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *add(void *arg) {
    (void)arg;
    atomic_fetch_add(&x, 1);
    return 0;
}

static void *exchange(void *arg) {
    (void)arg;
    int expected = 2;
    if (!atomic_compare_exchange_strong(&x, &expected, 10))
        assert(expected == 0 || expected == 1);
    return 0;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, add, 0);
    pthread_create(&t[1], 0, add, 0);
    pthread_create(&t[2], 0, exchange, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    assert(x == 10 || x == 2);
}

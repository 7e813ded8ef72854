// RUN: check
// EXPECT: verified
// Nobody passes before all have come, and exactly one is told to be special.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t b;
static atomic_int arrived, serial;

static void *worker(void *arg) {
    (void)arg;
    atomic_fetch_add(&arrived, 1);
    int r = pthread_barrier_wait(&b);
    assert(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
    assert(atomic_load(&arrived) == 2);
    if (r)
        atomic_fetch_add(&serial, 1);
    return 0;
}

int main(void) {
    pthread_t t[2];
    pthread_barrier_init(&b, 0, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(serial == 1);
    assert(pthread_barrier_destroy(&b) == 0);
}

// RUN: check
// EXPECT: verified
// A barrier can be used again at once.
#include <assert.h>
#include <pthread.h>

static pthread_barrier_t b;
static int phase[2];

static void step(int me, int p) {
    phase[me] = p;
    pthread_barrier_wait(&b);
    assert(phase[1 - me] == p);
    pthread_barrier_wait(&b);
}

static void *worker(void *arg) {
    (void)arg;
    step(1, 1);
    step(1, 2);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_barrier_init(&b, 0, 2);
    pthread_create(&t, 0, worker, 0);
    step(0, 1);
    step(0, 2);
    pthread_join(t, 0);
}

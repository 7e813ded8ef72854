// RUN: check
// EXPECT: verified complete=2 blocked=0
// A local variable of main, shared through the arguments of its threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct shared {
    atomic_int n;
    int *indirect;
};

static void *worker(void *arg) {
    struct shared *shared = arg;
    assert(*shared->indirect == 5);
    atomic_fetch_add(&shared->n, 1);
    return 0;
}

int main(void) {
    pthread_t s, t;
    int five = 5;
    struct shared shared = {0, &five};
    pthread_create(&s, 0, worker, &shared);
    pthread_create(&t, 0, worker, &shared);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(shared.n == 2);
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
// Each thread has its own, with the initial value.
#include <assert.h>
#include <pthread.h>

static _Thread_local int mine = 5;
static __thread int zeros[3];

static void *worker(void *arg) {
    (void)arg;
    assert(mine == 5 && zeros[2] == 0);
    mine++;
    zeros[2] = 1;
    assert(mine == 6);
    return 0;
}

int main(void) {
    pthread_t s, t;
    mine = 9;
    pthread_create(&s, 0, worker, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(mine == 9 && zeros[2] == 0);
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
// Creation and join order plain accesses.
#include <assert.h>
#include <pthread.h>

static int x;

static void *worker(void *arg) {
    (void)arg;
    x++;
    return 0;
}

int main(void) {
    pthread_t t;
    x = 1;
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    x++;
    assert(x == 3);
}

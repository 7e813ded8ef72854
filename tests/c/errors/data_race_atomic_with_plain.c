// RUN: check
// EXPECT: violation data-race
// An atomic store and a plain load of the same variable.
#include <pthread.h>

static int x;

static void *writer(void *arg) {
    (void)arg;
    __atomic_store_n(&x, 1, __ATOMIC_SEQ_CST); // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int seen = x; // HERE
    pthread_join(t, 0);
    return seen > 1;
}

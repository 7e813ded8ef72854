// RUN: check
// EXPECT: violation arithmetic
#include <pthread.h>
#include <stdatomic.h>

static atomic_int divisor = 1;

static void *clear(void *arg) {
    (void)arg;
    atomic_store(&divisor, 0);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, clear, 0);
    int result = 100 / atomic_load(&divisor); // HERE
    pthread_join(t, 0);
    return result == 1;
}

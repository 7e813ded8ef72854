// RUN: check
// EXPECT: violation data-race
// An unprotected plain counter.
#include <pthread.h>

static int counter;

static void *inc(void *arg) {
    (void)arg;
    counter++; // HERE
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, inc, 0);
    pthread_create(&b, 0, inc, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

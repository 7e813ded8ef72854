// RUN: check --algorithm naive
// EXPECT: verified complete=2 blocked=0
// EXPECT: not-covered data races
// Plain interleaving does not look for data races, and must not claim that it did.
#include <pthread.h>

static int x;

static void *writer(void *arg) {
    (void)arg;
    x = 1;
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int seen = x;
    pthread_join(t, 0);
    return seen > 1;
}

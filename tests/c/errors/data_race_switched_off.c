// RUN: check --no-data-races
// EXPECT: verified
// EXPECT: not-covered data races
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
    x = 2;
    pthread_join(t, 0);
}

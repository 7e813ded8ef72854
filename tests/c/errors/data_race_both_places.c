// RUN: check
// EXPECT: violation data-race
// The report shows both accesses.
#include <pthread.h>

static int x;

static void *writer(void *arg) {
    (void)arg;
    x = 1; // HERE
    return 0;
}

static void *reader(void *arg) {
    (void)arg;
    int seen = x; // HERE
    (void)seen;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

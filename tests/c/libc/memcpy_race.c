// RUN: check
// EXPECT: violation data-race
// memcpy reads what another thread writes.
#include <pthread.h>
#include <string.h>

static int from[8], to[8];

static void *writer(void *arg) {
    (void)arg;
    from[5] = 1; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    memcpy(to, from, sizeof to); // HERE
    pthread_join(t, 0);
}

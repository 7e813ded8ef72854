// RUN: check
// EXPECT: violation use-after-free|data-race
// One thread frees what another still reads, unordered.
#include <pthread.h>
#include <stdlib.h>

static int *shared;

static void *reader(void *arg) {
    (void)arg;
    int seen = *shared; // HERE
    (void)seen;
    return 0;
}

int main(void) {
    pthread_t t;
    shared = malloc(sizeof *shared);
    *shared = 1;
    pthread_create(&t, 0, reader, 0);
    free(shared);
    pthread_join(t, 0);
}

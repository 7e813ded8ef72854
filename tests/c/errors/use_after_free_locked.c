// RUN: check
// EXPECT: violation use-after-free
// Ordered by a lock, so no race: but the reader does not ask whether the object is still there.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int *shared;

static void *reader(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    int seen = *shared; // HERE
    (void)seen;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t t;
    shared = malloc(sizeof *shared);
    *shared = 1;
    pthread_create(&t, 0, reader, 0);
    pthread_mutex_lock(&m);
    free(shared);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
}

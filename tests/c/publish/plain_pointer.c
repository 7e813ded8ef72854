// RUN: check
// EXPECT: violation data-race
// A plain pointer does not publish anything.
#include <pthread.h>
#include <stddef.h>

static int value;
static int *shared;

static void *maker(void *arg) {
    (void)arg;
    value = 1;
    shared = &value; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, maker, 0);
    int *p = shared; // HERE
    pthread_join(t, 0);
    return p != NULL && *p != 1;
}

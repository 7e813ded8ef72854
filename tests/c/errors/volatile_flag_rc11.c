// RUN: check --model rc11
// EXPECT: violation data-race
// EXPECT: message `volatile` does not make an access atomic
// A flag that is volatile, and not atomic: the report says so, here with the graph engine.
#include <pthread.h>
#include <stddef.h>

static volatile int ready;

static void *publish(void *arg) {
    ready = 1; // HERE
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, publish, NULL);
    int seen = ready; // HERE
    pthread_join(t, NULL);
    return seen & 0;
}

// RUN: check
// EXPECT: violation data-race
// Neighbouring bit-fields share a memory location: writing both from two threads is a race.
#include <pthread.h>

static struct {
    unsigned a : 4, b : 4;
} s;

static void *set_a(void *arg) {
    (void)arg;
    s.a = 1; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, set_a, 0);
    s.b = 2; // HERE
    pthread_join(t, 0);
}

// RUN: check
// EXPECT: violation data-race
// EXPECT: message data race on pair.second
// A structure is copied while one of its members is written: the race is on that member.
#include <pthread.h>
#include <stdatomic.h>

static struct {
    short first;
    char second;
    char third;
} pair;

static atomic_int written;

static void *writer(void *arg) {
    (void)arg;
    pair.first = 1;
    atomic_store_explicit(&written, 1, memory_order_release);
    pair.second = 1; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int seen = 0;
    if (atomic_load_explicit(&written, memory_order_acquire)) {
        __typeof__(pair) copy = pair; // HERE
        seen = copy.third;
    }
    pthread_join(t, 0);
    return seen;
}

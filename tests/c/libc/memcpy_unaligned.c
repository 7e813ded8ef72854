// RUN: check
// EXPECT: verified complete=1 blocked=0
// Copies of odd sizes at odd places, of memory that threads share one after the other.
#include <assert.h>
#include <pthread.h>
#include <string.h>

static char buffer[32];

static void *worker(void *arg) {
    (void)arg;
    memcpy(buffer + 3, "0123456789abc", 13);
    memmove(buffer + 5, buffer + 3, 13);
    return 0;
}

int main(void) {
    pthread_t t;
    memset(buffer, '.', sizeof buffer);
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    assert(memcmp(buffer, "...010123456789abc.....", 23) == 0);
}

// RUN: check
// EXPECT: violation data-race
// A write of one byte of a word that another thread reads.
#include <pthread.h>

static union {
    unsigned word;
    unsigned char byte[4];
} u;

static void *writer(void *arg) {
    (void)arg;
    u.byte[3] = 1; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    unsigned seen = u.word; // HERE
    pthread_join(t, 0);
    return seen == 2;
}

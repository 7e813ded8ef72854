// RUN: check --model rc11
// EXPECT: verified complete=1 blocked=0
// Bytes of a word belong to different threads, and the word is read when both have ended.
#include <assert.h>
#include <pthread.h>

static union {
    unsigned word;
    unsigned char byte[4];
    unsigned short half[2];
} u;

static void *first(void *arg) {
    u.byte[0] = 1;
    u.byte[1] = 2;
    return arg;
}

static void *second(void *arg) {
    u.half[1] = 0x403;
    return arg;
}

int main(void) {
    pthread_t one, two;
    u.word = 0xffffffff;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(u.word == 0x04030201);
    u.word = 0;
    assert(u.half[1] == 0 && u.byte[0] == 0);
    return 0;
}

// RUN: check
// EXPECT: incomplete
// EXPECT: not-covered threads
// Every thread creates another one.
#include <pthread.h>

static void *again(void *arg) {
    pthread_t t;
    pthread_create(&t, 0, again, arg);
    return 0;
}

int main(void) {
    again(0);
}

// RUN: check
// EXPECT: violation invalid-pointer
// A thread that starts at null.
#include <pthread.h>

int main(void) {
    pthread_t t;
    void *(*volatile start)(void *) = 0;
    pthread_create(&t, 0, start, 0); // HERE
    pthread_join(t, 0);
}

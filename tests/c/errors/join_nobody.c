// RUN: check
// EXPECT: violation lock-misuse
// A thread handle that was never given out.
#include <pthread.h>

int main(void) {
    pthread_t t = (pthread_t)12345;
    pthread_join(t, 0); // HERE
}

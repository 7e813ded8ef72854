// RUN: check
// EXPECT: violation deadlock|lock-misuse
#include <pthread.h>

int main(void) {
    pthread_join(pthread_self(), 0); // HERE
}

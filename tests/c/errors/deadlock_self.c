// RUN: check
// EXPECT: violation deadlock
// A normal mutex does not notice that its owner locks it again.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m); // HERE
    pthread_mutex_unlock(&m);
}

// RUN: check
// EXPECT: violation lock-misuse
// The mutex has to be held by the thread that waits.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

int main(void) {
    pthread_cond_wait(&c, &m); // HERE
}

/* linc(N): N threads add 1 to x under a lock, once each; main does not join them.
 *
 * The lock is taken in some order: N! traces. */
#include <pthread.h>

#ifndef N
#define N 3
#endif

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

void *add(void *arg) {
    pthread_mutex_lock(&lock);
    x++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t;
    for (int n = 0; n < N; n++)
        pthread_create(&t, 0, add, 0);
    return 0;
}

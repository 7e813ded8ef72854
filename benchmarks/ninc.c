/* ninc(N): N threads add 1 to x once each; main does not join them.
 *
 * Every addition reads and writes: N! traces (one, if additions whose result is not used are said to commute). */
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 5
#endif

static atomic_int x;

static void *add(void *arg) {
    (void)arg;
    atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, add, NULL);
    return 0;
}

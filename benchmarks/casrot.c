/* casrot(N): thread i = 1..N exchanges x from i-1 to i, once; x is 0 at first.
 *
 * A failed exchange is a read. 1, 2, 5, 14, 43, 144, ... traces: 2048 for N = 8, 38486 for N = 10. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 6
#endif

static atomic_int x;

static void *rotate(void *arg) {
    int i = (int)(intptr_t)arg;
    int expected = i - 1;
    atomic_compare_exchange_strong_explicit(&x, &expected, i, memory_order_relaxed, memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 1; i <= N; i++)
        pthread_create(&t[i - 1], NULL, rotate, (void *)i);
    return 0;
}

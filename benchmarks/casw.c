/* casw(N): thread i = 0..N-1 exchanges x from 0 to 1, and then stores i+3 into it.
 *
 * At most one exchange succeeds; the others are reads. 1200 traces for N = 4, 32880 for N = 5. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_int x;

static void *worker(void *arg) {
    int i = (int)(intptr_t)arg;
    int expected = 0;
    atomic_compare_exchange_strong_explicit(&x, &expected, 1, memory_order_relaxed, memory_order_relaxed);
    atomic_store_explicit(&x, i + 3, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    return 0;
}

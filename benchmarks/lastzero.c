/* lastzero(N): an array of N+1 zeros. A reader looks for the last zero from the end; writer j = 1..N sets
 * array[j] = array[j-1] + 1.
 *
 * (N+3) * 2^(N-2) traces for N > 1. A well-known test for sleep-set blocking: only wakeup trees avoid it.
 * (Abdulla et al., Optimal Dynamic Partial Order Reduction, POPL 2014.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 5
#endif

static atomic_int array[N + 1];

static void *reader(void *arg) {
    (void)arg;
    int i = N;
    while (atomic_load_explicit(&array[i], memory_order_acquire) != 0)
        i--;
    return NULL;
}

static void *writer(void *arg) {
    int j = (int)(intptr_t)arg;
    int before = atomic_load_explicit(&array[j - 1], memory_order_acquire);
    atomic_store_explicit(&array[j], before + 1, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    pthread_create(&t[0], NULL, reader, NULL);
    for (intptr_t j = 1; j <= N; j++)
        pthread_create(&t[j], NULL, writer, (void *)j);
    return 0;
}

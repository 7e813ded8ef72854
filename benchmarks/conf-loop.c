/* N threads read x, compute, and exchange x if it is still what it was, or try again.
 *
 * An iteration whose exchange fails has no effect: N! executions if only those are left in which every exchange succeeds
 * at once. (Kokologiannakis, Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023, Table 1.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 4
#endif

static atomic_int x;

static void *worker(void *arg) {
    int seen;
    do
        seen = atomic_load_explicit(&x, memory_order_acquire);
    while (!atomic_compare_exchange_strong_explicit(&x, &seen, seen + 1, memory_order_acq_rel, memory_order_relaxed));
    return arg;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}

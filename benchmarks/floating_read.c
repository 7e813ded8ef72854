/* floating_read(N): N threads write x once each; main reads x without waiting for them.
 *
 * All accesses conflict, except that there is only one read: (N+1)! traces.
 * Observers make it N * 2^(N-1) + 1. (Aronis et al., Optimal DPOR with Observers, TACAS 2018, Table 1.) */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 4
#endif

static atomic_int x;

static void *writer(void *arg) {
    atomic_store(&x, (int)(intptr_t)arg);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, writer, (void *)(i + 1));
    int seen = atomic_load(&x);
    assert(seen >= 0 && seen <= N);
    return 0;
}

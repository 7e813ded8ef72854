/* lastwrite(N): N threads write x once each; main joins them all and then reads x.
 *
 * Only the last write can be read, but all orders of the writes are different traces: N!.
 * Observers make it N. (Aronis et al., Optimal DPOR with Observers, TACAS 2018, Table 1.) */
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
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&x) > 0);
    return 0;
}

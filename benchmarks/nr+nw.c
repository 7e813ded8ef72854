/* K readers wait for a value of x that never comes; one writer writes x L times.
 *
 * All executions are blocked: (L+1)^K if waiting is an assumption, and one, a livelock, as awaits. With -DSPIN it is a
 * loop. (Kokologiannakis, Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023, Table 1.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

#ifndef K
#define K 3
#endif
#ifndef L
#define L 2
#endif

static atomic_int x;

static void *reader(void *arg) {
    AWAIT(atomic_load_explicit(&x, memory_order_acquire) > L);
    return arg;
}

static void *writer(void *arg) {
    for (int i = 1; i <= L; i++)
        atomic_store_explicit(&x, i, memory_order_release);
    return arg;
}

int main(void) {
    pthread_t w, t[K];
    for (int i = 0; i < K; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    pthread_create(&w, NULL, writer, NULL);
    pthread_join(w, NULL);
    for (int i = 0; i < K; i++)
        pthread_join(t[i], NULL);
    return 0;
}

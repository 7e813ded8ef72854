/* A thread waits until N workers have published their results.
 *
 * Workers count themselves by a fetch-and-add: N! executions, and N * N! that are blocked if waiting is an assumption.
 * With -DSPIN it is a loop. (Kokologiannakis, Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023,
 * Table 1.) */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "await.h"

#ifndef N
#define N 4
#endif

static atomic_int ready;
static int results[N];

static void *waiter(void *arg) {
    AWAIT(atomic_load_explicit(&ready, memory_order_acquire) == N);
    for (int i = 0; i < N; i++)
        assert(results[i] == i + 1);
    return arg;
}

static void *worker(void *arg) {
    results[(intptr_t)arg] = (int)(intptr_t)arg + 1;
    atomic_fetch_add_explicit(&ready, 1, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t w, t[N];
    pthread_create(&w, NULL, waiter, NULL);
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    pthread_join(w, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}

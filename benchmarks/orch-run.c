/* N workers wait for main to give the sign, and then compute something of their own.
 *
 * One execution; if waiting is an assumption, 2^N - 1 that are blocked. With -DSPIN it is a loop. (Kokologiannakis,
 * Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023, Table 1.) */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "await.h"

#ifndef N
#define N 4
#endif

static atomic_int go;
static int input;

static void *worker(void *arg) {
    AWAIT(atomic_load_explicit(&go, memory_order_acquire));
    int sum = 0;
    for (int i = 0; i <= (int)(intptr_t)arg; i++)
        sum += input;
    assert(sum == 7 * ((int)(intptr_t)arg + 1));
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    input = 7;
    atomic_store_explicit(&go, 1, memory_order_release);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}

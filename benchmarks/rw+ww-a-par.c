/* The program rw+ww-a, beside a thread that writes z and N threads that read it.
 *
 * The wait has nothing to do with z: 2 * 2^N executions, and 2^N that are blocked if waiting is an assumption. With
 * -DSPIN it is a loop. (Kokologiannakis, Marmanis, Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023,
 * section 2.2.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

#ifndef N
#define N 3
#endif

static atomic_int x, y, z;

static void *reader(void *arg) {
    AWAIT(atomic_load_explicit(&x, memory_order_acquire) != 0);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    return arg;
}

static void *writer(void *arg) {
    atomic_store_explicit(&x, 1, memory_order_release);
    atomic_store_explicit(&x, 2, memory_order_release);
    return arg;
}

static void *z_writer(void *arg) {
    atomic_store_explicit(&z, 1, memory_order_release);
    return arg;
}

static void *z_reader(void *arg) {
    atomic_load_explicit(&z, memory_order_acquire);
    return arg;
}

int main(void) {
    pthread_t s, t, w, r[N];
    pthread_create(&s, NULL, reader, NULL);
    pthread_create(&t, NULL, writer, NULL);
    pthread_create(&w, NULL, z_writer, NULL);
    for (int i = 0; i < N; i++)
        pthread_create(&r[i], NULL, z_reader, NULL);
    pthread_join(s, NULL);
    pthread_join(t, NULL);
    pthread_join(w, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(r[i], NULL);
    return 0;
}

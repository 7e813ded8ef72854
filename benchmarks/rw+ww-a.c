/* One thread waits until x is not 0 and then writes y; another one writes x twice.
 *
 * 2 executions, and one that is blocked if waiting is an assumption; with -DSPIN it is a loop. (Kokologiannakis, Marmanis,
 * Vafeiadis, Unblocking Dynamic Partial Order Reduction, CAV 2023, section 2.2.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

static atomic_int x, y;

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

int main(void) {
    pthread_t s, t;
    pthread_create(&s, NULL, reader, NULL);
    pthread_create(&t, NULL, writer, NULL);
    pthread_join(s, NULL);
    pthread_join(t, NULL);
    return 0;
}

/* One thread waits for x to be set, another one sets it.
 *
 * As an assumption there are two traces, one of which is blocked; with -DSPIN it is a loop, and as an await there is only
 * the trace in which the wait comes second. (Jonsson, Lång, Sagonas, Awaiting for Godot, FMCAD 2022, Fig. 2.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

static atomic_int x;

static void *p(void *arg) {
    AWAIT(atomic_load_explicit(&x, memory_order_acquire) == 1);
    return arg;
}

static void *q(void *arg) {
    atomic_store_explicit(&x, 1, memory_order_release);
    return arg;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, NULL, p, NULL);
    pthread_create(&t, NULL, q, NULL);
    return 0;
}

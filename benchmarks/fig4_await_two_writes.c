/* One thread writes 1 and then 0 to x, another one waits for 0: it can find the first 0 or the last.
 *
 * As an await there are two traces: an await cannot be stopped by a race with the one write that it does not want. With
 * -DSPIN it is a loop. (Jonsson, Lång, Sagonas, Awaiting for Godot, FMCAD 2022, Fig. 4.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

static atomic_int x;

static void *p(void *arg) {
    atomic_store_explicit(&x, 1, memory_order_release);
    atomic_store_explicit(&x, 0, memory_order_release);
    return arg;
}

static void *q(void *arg) {
    AWAIT(atomic_load_explicit(&x, memory_order_acquire) == 0);
    return arg;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, NULL, p, NULL);
    pthread_create(&t, NULL, q, NULL);
    return 0;
}

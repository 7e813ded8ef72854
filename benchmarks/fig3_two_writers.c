/* Two threads write x and then y, and nobody reads.
 *
 * 4 traces, one for each final pair of values. (Jonsson, Lång, Sagonas, Awaiting for Godot, FMCAD 2022, Fig. 3.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int x, y;

static void *p(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    atomic_store(&y, 1);
    return NULL;
}

static void *q(void *arg) {
    (void)arg;
    atomic_store(&x, 2);
    atomic_store(&y, 2);
    return NULL;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, NULL, p, NULL);
    pthread_create(&t, NULL, q, NULL);
    return 0;
}

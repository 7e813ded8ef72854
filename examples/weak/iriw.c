// Independent reads of independent writes: two readers see two writes in opposite order. Acquire and release do not
// forbid that, since no writer knows of the other; sequentially consistent accesses do, and x86 never shows it.
//
//     selvedge check examples/weak/iriw.c                                                             violation
//     selvedge check examples/weak/iriw.c --model tso                                                 verified
//     selvedge check examples/weak/iriw.c -D STORE=memory_order_seq_cst -D LOAD=memory_order_seq_cst  verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef STORE
#define STORE memory_order_release
#define LOAD memory_order_acquire
#endif

atomic_int x, y;
int x_before_y, y_before_x;

void *write_x(void *arg) {
    atomic_store_explicit(&x, 1, STORE);
    return arg;
}

void *write_y(void *arg) {
    atomic_store_explicit(&y, 1, STORE);
    return arg;
}

void *read_x_y(void *arg) {
    int first = atomic_load_explicit(&x, LOAD);
    int second = atomic_load_explicit(&y, LOAD);
    x_before_y = first == 1 && second == 0;
    return arg;
}

void *read_y_x(void *arg) {
    int first = atomic_load_explicit(&y, LOAD);
    int second = atomic_load_explicit(&x, LOAD);
    y_before_x = first == 1 && second == 0;
    return arg;
}

int main(void) {
    pthread_t threads[4];
    pthread_create(&threads[0], 0, write_x, 0);
    pthread_create(&threads[1], 0, write_y, 0);
    pthread_create(&threads[2], 0, read_x_y, 0);
    pthread_create(&threads[3], 0, read_y_x, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    assert(!(x_before_y && y_before_x));
    return 0;
}

// Dekker's way to exclude each other: announce yourself, then look whether the other one has.
//
// Under sequential consistency one of the two always sees the other. A store may wait in a store buffer while the load
// behind it is made, on every processor of today; then both go in. Only sequentially consistent accesses forbid that:
//
//     selvedge check examples/weak/dekker.c                                  violation
//     selvedge check examples/weak/dekker.c --model sc                       verified
//     selvedge check examples/weak/dekker.c -D ORDER=memory_order_seq_cst    verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ORDER
#define ORDER memory_order_relaxed
#endif

atomic_int left_wants, right_wants;
atomic_int inside;

static void critical_section(void) {
    int others = atomic_fetch_add(&inside, 1);
    assert(others == 0);
    atomic_fetch_sub(&inside, 1);
}

void *left(void *arg) {
    atomic_store_explicit(&left_wants, 1, ORDER);
    if (atomic_load_explicit(&right_wants, ORDER) == 0)
        critical_section();
    return arg;
}

void *right(void *arg) {
    atomic_store_explicit(&right_wants, 1, ORDER);
    if (atomic_load_explicit(&left_wants, ORDER) == 0)
        critical_section();
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, left, 0);
    pthread_create(&b, 0, right, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

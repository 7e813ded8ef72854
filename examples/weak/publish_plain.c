// The same with plain data: then a relaxed flag makes the two accesses to the data a data race, which is an error under
// every memory model, since the compiler may take it that there is none.
//
//     selvedge check examples/weak/publish_plain.c                                     violation
//     selvedge check examples/weak/publish_plain.c -D PUBLISH=memory_order_release     verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef PUBLISH
#define PUBLISH memory_order_relaxed
#endif

int data;
atomic_int ready;

void *producer(void *arg) {
    data = 42;
    atomic_store_explicit(&ready, 1, PUBLISH);
    return arg;
}

void *consumer(void *arg) {
    if (atomic_load_explicit(&ready, memory_order_acquire))
        assert(data == 42);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, producer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

// Data that is published by a flag. A relaxed flag says that it was set, but not what happened before that: whoever
// sees it need not see the data. With a release store the program is correct:
//
//     selvedge check examples/weak/publish.c                                     violation
//     selvedge check examples/weak/publish.c --model tso                         verified: x86 keeps the order of stores
//     selvedge check examples/weak/publish.c -D PUBLISH=memory_order_release     verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef PUBLISH
#define PUBLISH memory_order_relaxed
#endif

atomic_int data;
atomic_int ready;

void *producer(void *arg) {
    atomic_store_explicit(&data, 42, memory_order_relaxed);
    atomic_store_explicit(&ready, 1, PUBLISH);
    return arg;
}

void *consumer(void *arg) {
    if (atomic_load_explicit(&ready, memory_order_acquire)) {
        int seen = atomic_load_explicit(&data, memory_order_relaxed);
        assert(seen == 42);
    }
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

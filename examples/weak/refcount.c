// An object with a counter of references: the last one frees it. A relaxed decrement orders nothing: what the other
// thread did with the object before it let go may still be under way.
//
//     selvedge check examples/weak/refcount.c                                    violation
//     selvedge check examples/weak/refcount.c -D RELEASE=memory_order_acq_rel    verified

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef RELEASE
#define RELEASE memory_order_relaxed
#endif

struct object {
    atomic_int references;
    atomic_int uses;
};

void *user(void *arg) {
    struct object *object = arg;
    atomic_fetch_add_explicit(&object->uses, 1, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&object->references, 1, RELEASE) == 1)
        free(object);
    return 0;
}

int main(void) {
    struct object *object = malloc(sizeof *object);
    atomic_init(&object->references, 2);
    atomic_init(&object->uses, 0);
    pthread_t a, b;
    pthread_create(&a, 0, user, object);
    pthread_create(&b, 0, user, object);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

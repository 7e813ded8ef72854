// RUN: check --leaks
// EXPECT: verified complete=2 blocked=0
// An object made by one thread, published through a global and used by another.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    int a, b;
};

static _Atomic(struct object *) shared;

static void *maker(void *arg) {
    (void)arg;
    struct object *object = malloc(sizeof *object);
    object->a = 1;
    object->b = 2;
    atomic_store_explicit(&shared, object, memory_order_release);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, maker, 0);
    struct object *object = atomic_load_explicit(&shared, memory_order_acquire);
    if (object)
        assert(object->a == 1 && object->b == 2);
    pthread_join(t, 0);
    free(atomic_load(&shared));
}

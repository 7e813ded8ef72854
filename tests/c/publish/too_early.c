// RUN: check
// EXPECT: violation data-race
// Published before the last field is set.
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
    atomic_store(&shared, object);
    object->b = 3; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, maker, 0);
    struct object *object = atomic_load(&shared);
    int seen = object ? object->b : 0; // HERE
    pthread_join(t, 0);
    free(atomic_load(&shared));
    return seen > 3;
}

// RUN: check
// EXPECT: violation uninitialised-read
// The object is published before its field is set.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int value;
};

static _Atomic(struct object *) shared;

static void *reader(void *arg) {
    (void)arg;
    struct object *object = atomic_load(&shared);
    if (object)
        atomic_load(&object->value); // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    struct object *object = malloc(sizeof *object);
    atomic_store(&shared, object);
    atomic_store(&object->value, 1);
    pthread_join(t, 0);
    free(object);
}

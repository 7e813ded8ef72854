/* A sketch of read-copy-update: R readers look at a record through a pointer, a writer replaces the record U times and
 * frees the old one once nobody can be looking at it.
 *
 * A reader announces itself before it loads the pointer; the writer waits until it has seen each reader outside its
 * section. With -DBUG it does not wait, and a reader can use a record after it has been freed. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "await.h"

#ifndef R
#define R 1
#endif
#ifndef U
#define U 1
#endif

struct record {
    int a, b;
};

static _Atomic(struct record *) current;
static atomic_int reading[R];

static struct record *new_record(int version) {
    struct record *record = malloc(sizeof *record);
    record->a = version;
    record->b = -version;
    return record;
}

static void *reader(void *arg) {
    int me = (int)(intptr_t)arg;
    atomic_store(&reading[me], 1);
    struct record *record = atomic_load(&current);
    assert(record->a + record->b == 0);
    atomic_store(&reading[me], 0);
    return NULL;
}

static void synchronize(void) {
#ifndef BUG
    for (int i = 0; i < R; i++)
        AWAIT(!atomic_load(&reading[i]));
#endif
}

static void *writer(void *arg) {
    (void)arg;
    for (int i = 1; i <= U; i++) {
        struct record *old = atomic_exchange(&current, new_record(i));
        synchronize();
        free(old);
    }
    return NULL;
}

int main(void) {
    pthread_t t[R + 1];
    atomic_init(&current, new_record(0));
    pthread_create(&t[R], NULL, writer, NULL);
    for (intptr_t i = 0; i < R; i++)
        pthread_create(&t[i], NULL, reader, (void *)i);
    for (int i = 0; i <= R; i++)
        pthread_join(t[i], NULL);
    free(atomic_load(&current));
    return 0;
}

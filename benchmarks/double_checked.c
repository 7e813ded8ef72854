/* Double-checked locking: T threads want one object that is made on first use.
 *
 * The first check reads the pointer without the lock. If the pointer is a plain variable, that is a data race; with
 * -DFIXED it is atomic, released when set and acquired when read. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef T
#define T 2
#endif

struct object {
    int value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int made;

#ifdef FIXED
static _Atomic(struct object *) instance;
#define GET() atomic_load_explicit(&instance, memory_order_acquire)
#define SET(p) atomic_store_explicit(&instance, p, memory_order_release)
#else
static struct object *instance;
#define GET() instance
#define SET(p) (instance = (p))
#endif

static struct object *get(void) {
    struct object *object = GET();
    if (!object) {
        pthread_mutex_lock(&lock);
        object = GET();
        if (!object) {
            object = malloc(sizeof *object);
            object->value = 42;
            made++;
            SET(object);
        }
        pthread_mutex_unlock(&lock);
    }
    return object;
}

static void *worker(void *arg) {
    (void)arg;
    assert(get()->value == 42);
    return NULL;
}

int main(void) {
    pthread_t t[T];
    for (int i = 0; i < T; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < T; i++)
        pthread_join(t[i], NULL);
    assert(made == 1);
    free(get());
    return 0;
}

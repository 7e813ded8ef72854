// RUN: check --leaks
// EXPECT: verified complete=1 blocked=0
// The destructor of a key runs when a thread ends, if its value is not null.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t key;
static int destroyed;

static void destroy(void *p) {
    destroyed++;
    free(p);
}

static void *worker(void *arg) {
    if (arg)
        pthread_setspecific(key, malloc(4));
    if (arg)
        pthread_exit(0);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_key_create(&key, destroy);
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, 0);
    assert(destroyed == 0);
    pthread_create(&t, 0, worker, (void *)1);
    pthread_join(t, 0);
    assert(destroyed == 1);
}

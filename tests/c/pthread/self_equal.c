// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <pthread.h>

static pthread_t parent;

static void *worker(void *arg) {
    (void)arg;
    assert(!pthread_equal(pthread_self(), parent));
    return (void *)pthread_self();
}

int main(void) {
    pthread_t t;
    void *self;
    parent = pthread_self();
    assert(pthread_equal(parent, pthread_self()));
    pthread_create(&t, 0, worker, 0);
    pthread_join(t, &self);
    assert(pthread_equal((pthread_t)self, t));
}

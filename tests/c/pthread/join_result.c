// RUN: check
// EXPECT: verified complete=1 blocked=0
// What a thread returns, or gives to pthread_exit from a function it calls, arrives at join.
#include <assert.h>
#include <pthread.h>

static void leave(void *with) {
    pthread_exit(with);
}

static void *returns(void *arg) {
    return arg;
}

static void *exits(void *arg) {
    leave(arg);
    assert(0);
    return 0;
}

int main(void) {
    pthread_t a, b;
    void *ra, *rb;
    pthread_create(&a, 0, returns, (void *)5);
    pthread_create(&b, 0, exits, (void *)6);
    assert(pthread_join(a, &ra) == 0 && ra == (void *)5);
    assert(pthread_join(b, &rb) == 0 && rb == (void *)6);
}

/* The writer comes to `y = 0` over two ways. Behind `z = 1`, nobody needs to look at the reader: it could as well have gone
   before. Behind `y = 1` it must be looked at; and that state is covered by the other one if nothing tells them apart. */
#include <assert.h>
#include <pthread.h>

extern _Bool __VERIFIER_nondet_bool(void);
int y, z;

static void *reader(void *unused) {
    assert(y == 0);
    return unused;
}

static void *writer(void *unused) {
    if (__VERIFIER_nondet_bool())
        FIRST = 1;
    else
        SECOND = 1;
    y = 0;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, reader, 0);
    pthread_create(&threads[1], 0, writer, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    assert(z <= 1);
    return 0;
}

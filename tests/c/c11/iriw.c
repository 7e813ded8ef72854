// RUN: check
// EXPECT: verified complete=15 blocked=0
// Independent reads of independent writes: the readers agree on the order. 16 combinations of what is read, less the
// one in which they do not.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *write_x(void *arg) {
    (void)arg;
    atomic_store(&x, 1);
    return 0;
}

static void *write_y(void *arg) {
    (void)arg;
    atomic_store(&y, 1);
    return 0;
}

static void *read_xy(void *arg) {
    (void)arg;
    int a = atomic_load(&x), b = atomic_load(&y);
    return a && !b ? (void *)1 : 0;
}

static void *read_yx(void *arg) {
    (void)arg;
    int b = atomic_load(&y), a = atomic_load(&x);
    return b && !a ? (void *)1 : 0;
}

int main(void) {
    pthread_t t[4];
    void *first, *second;
    pthread_create(&t[0], 0, write_x, 0);
    pthread_create(&t[1], 0, write_y, 0);
    pthread_create(&t[2], 0, read_xy, 0);
    pthread_create(&t[3], 0, read_yx, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    pthread_join(t[2], &first);
    pthread_join(t[3], &second);
    assert(!(first && second));
}

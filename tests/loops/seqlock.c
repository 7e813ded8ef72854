// EXPECT purity: verified complete=2 blocked=9
// EXPECT await: verified complete=2 blocked=4
// A sequence lock: readers wait for an even number, and try again if it has changed meanwhile.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint seq;
static atomic_int a, b;

static void *writer(void *arg) {
    atomic_fetch_add(&seq, 1);
    atomic_store(&a, 1);
    atomic_store(&b, 1);
    atomic_fetch_add(&seq, 1);
    return arg;
}

static void *reader(void *arg) {
    unsigned before;
    int x, y;
    do {
        while ((before = atomic_load(&seq)) & 1) {
        }
        x = atomic_load(&a);
        y = atomic_load(&b);
    } while (atomic_load(&seq) != before);
    assert(x == y);
    return arg;
}

int main(void) {
    pthread_t w, r;
    pthread_create(&w, 0, writer, 0);
    pthread_create(&r, 0, reader, 0);
    pthread_join(w, 0);
    pthread_join(r, 0);
}

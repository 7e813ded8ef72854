// RUN: check
// EXPECT: verified complete=2 blocked=0
// Message passing: the plain data are read only if the flag was seen.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static int data;
static atomic_int flag;

static void *producer(void *arg) {
    (void)arg;
    data = 42;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return 0;
}

static void *consumer(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&flag, memory_order_acquire))
        assert(data == 42);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, producer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

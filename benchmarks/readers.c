/* readers(N): one thread stores x once, N threads load it once each.
 *
 * Each reader comes before or after the write, independently: 2^N traces. */
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 8
#endif

static atomic_int x;

static void *writer(void *arg) {
    (void)arg;
    atomic_store_explicit(&x, 1, memory_order_release);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    (void)atomic_load_explicit(&x, memory_order_acquire);
    return NULL;
}

int main(void) {
    pthread_t t[N + 1];
    pthread_create(&t[N], NULL, writer, NULL);
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, reader, NULL);
    return 0;
}

/* Four threads and many accesses: two readers look at four variables in turn, the second one the other way round, and each
 * of two writers changes two of these, N times all in all.
 *
 * Nothing but reads and writes, and much that can be read: there is one execution for every choice of these. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif
#ifndef LOOKS
#define LOOKS 8
#endif

static atomic_int cells[4];

static void *forwards(void *arg) {
    (void)arg;
    for (int i = 0; i < LOOKS; i++)
        atomic_load_explicit(&cells[i % 4], memory_order_acquire);
    return NULL;
}

static void *backwards(void *arg) {
    (void)arg;
    for (int i = LOOKS; i > 0; i--)
        atomic_load_explicit(&cells[i % 4], memory_order_acquire);
    return NULL;
}

static void *writer(void *arg) {
    atomic_int *mine = arg;
    for (int i = 1; i <= N; i++)
        for (int j = 0; j < 2; j++)
            atomic_store_explicit(&mine[j], i, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t t[4];
    pthread_create(&t[0], NULL, forwards, NULL);
    pthread_create(&t[1], NULL, backwards, NULL);
    pthread_create(&t[2], NULL, writer, &cells[0]);
    pthread_create(&t[3], NULL, writer, &cells[2]);
    return 0;
}

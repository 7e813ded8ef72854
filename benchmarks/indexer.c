/* indexer(N): N threads insert four numbers each into a hash table of 128 entries with linear probing.
 *
 * Threads t and t+11 collide in three entries, so that there are 8 traces for N = 12, and 8^(N-11) in general; up to
 * N = 11 there is one. (Flanagan and Godefroid, Dynamic Partial-Order Reduction, POPL 2005.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 12
#endif

enum { SIZE = 128, MAX = 4 };

static atomic_int table[SIZE];

static void *insert(void *arg) {
    int tid = (int)(intptr_t)arg;
    for (int i = 1; i <= MAX; i++) {
        int w = i * 11 + tid;
        int h = (w * 7) % SIZE;
        int empty = 0;
        while (!atomic_compare_exchange_strong_explicit(&table[h], &empty, w, memory_order_relaxed,
                                                        memory_order_relaxed)) {
            h = (h + 1) % SIZE;
            empty = 0;
        }
    }
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, insert, (void *)i);
    return 0;
}

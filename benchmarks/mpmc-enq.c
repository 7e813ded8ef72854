/* N threads put a number each into the queue of mpmc-queue.c, which has room for all.
 *
 * A cell is claimed by a compare-and-exchange, and counted as written by a fetch-and-add: (N!)^2 executions if only those
 * are left in which every exchange succeeds at once. (Kokologiannakis, Marmanis, Vafeiadis, Unblocking Dynamic Partial
 * Order Reduction, CAV 2023, Table 2, on a queue of another size.) */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static atomic_uint claimed, written;
static int cells[N];

static void enqueue(int value) {
    unsigned mine;
    do
        mine = atomic_load_explicit(&claimed, memory_order_relaxed);
    while (!atomic_compare_exchange_strong_explicit(&claimed, &mine, mine + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    cells[mine] = value;
    atomic_fetch_add_explicit(&written, 1, memory_order_release);
}

static void *worker(void *arg) {
    enqueue((int)(intptr_t)arg);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}

// RUN: check --engine graph --model rc11 --reductions all
// EXPECT: violation data-race
// The load acquires, and the exchange that confirms it does not. Both may find 0, the load the first one and the exchange the one
// that came back: then nothing is ordered. If both read the same, there is no race.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;
static int data;

static void *writer(void *unused) {
    if (atomic_fetch_add_explicit(&x, 1, memory_order_relaxed) == 0) {
        data = 1; // HERE
        atomic_fetch_sub_explicit(&x, 1, memory_order_release);
        atomic_store_explicit(&y, 1, memory_order_relaxed);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    int seen;
    do {
        seen = atomic_load_explicit(&x, memory_order_acquire);
        if (seen != 0) {
            pthread_join(thread, NULL);
            return 0;
        }
    } while (!atomic_compare_exchange_strong_explicit(&x, &seen, 5, memory_order_relaxed, memory_order_relaxed));
    if (atomic_load_explicit(&y, memory_order_relaxed) == 1) {
        data = 2; // HERE
    }
    pthread_join(thread, NULL);
    return 0;
}

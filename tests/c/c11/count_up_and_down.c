// RUN: check --engine graph --model rc11 --reductions all
// EXPECT: verified complete=90 blocked=0
// A count that goes up, unless it is 0, and down again: one execution for every order. That a thread may have loaded what was there
// before others have counted up and down makes no difference.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int count = 1;

static bool up(void) {
    int seen = atomic_load_explicit(&count, memory_order_relaxed);
    do {
        if (seen == 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&count, &seen, seen + 1, memory_order_acquire, memory_order_relaxed));
    return true;
}

static void *work(void *unused) {
    if (up()) {
        atomic_fetch_sub_explicit(&count, 1, memory_order_release);
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert(atomic_load(&count) == 1);
    return 0;
}

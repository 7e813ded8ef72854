// RUN: check
// EXPECT: violation out-of-bounds
// The index is checked, and then changed by another thread before it is used.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int next;
static atomic_int slots[2];

static void *worker(void *arg) {
    (void)arg;
    if (atomic_load(&next) < 2)
        atomic_store(&slots[atomic_fetch_add(&next, 1)], 1); // HERE
    return 0;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
}

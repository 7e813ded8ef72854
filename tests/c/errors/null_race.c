// RUN: check
// EXPECT: violation invalid-pointer
// Checked, but cleared by another thread before it is used.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int value;
static _Atomic(atomic_int *) shared = &value;

static void *clear(void *arg) {
    (void)arg;
    atomic_store(&shared, NULL);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, clear, 0);
    if (atomic_load(&shared)) {
        atomic_int *p = atomic_load(&shared);
        atomic_store(p, 1); // HERE
    }
    pthread_join(t, 0);
}

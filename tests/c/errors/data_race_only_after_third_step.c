// RUN: check
// EXPECT: violation data-race
// Only if x is seen at exactly 2.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;
static int y;

static void *writer(void *arg) {
    (void)arg;
    for (int i = 1; i <= 3; i++)
        atomic_store(&x, i);
    y = 1; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    if (atomic_load(&x) == 2)
        y = 2; // HERE
    pthread_join(t, 0);
}

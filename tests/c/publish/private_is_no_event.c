// RUN: check
// EXPECT: verified complete=2 blocked=0
// Work on memory that nobody else can reach makes no difference.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int x;

static void *worker(void *arg) {
    (void)arg;
    int *p = malloc(100 * sizeof *p), sum = 0;
    for (int i = 0; i < 100; i++)
        p[i] = i;
    for (int i = 0; i < 100; i++)
        sum += p[i];
    free(p);
    atomic_fetch_add(&x, sum);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, worker, 0);
    pthread_create(&t, 0, worker, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    return x != 2 * 4950;
}

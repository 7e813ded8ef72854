// RUN: check
// EXPECT: verified complete=1 blocked=0
// Independent threads: one trace however many there are.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

enum { N = 40 };

static int cell[N];

static void *worker(void *arg) {
    cell[(intptr_t)arg]++;
    return 0;
}

int main(void) {
    pthread_t t[N];
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < N; i++)
        assert(cell[i] == 1);
}

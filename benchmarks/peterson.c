/* Peterson's algorithm for two threads, each of which enters its critical section N times.
 *
 * With -DBUG the turn is given away before the wish is announced: then both can enter. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "await.h"

#ifndef N
#define N 1
#endif

static atomic_int wants[2], turn;
static int counter;

static void *worker(void *arg) {
    int me = (int)(intptr_t)arg, other = 1 - me;
    for (int i = 0; i < N; i++) {
#ifdef BUG
        atomic_store(&turn, other);
        atomic_store(&wants[me], 1);
#else
        atomic_store(&wants[me], 1);
        atomic_store(&turn, other);
#endif
        AWAIT(!atomic_load(&wants[other]) || atomic_load(&turn) == me);
        counter++;
        atomic_store(&wants[me], 0);
    }
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(counter == 2 * N);
    return 0;
}

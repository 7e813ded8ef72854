/* Dekker's algorithm for two threads, each of which enters its critical section N times.
 *
 * The counter in the critical section is a plain variable: if both threads could be there, that would be a data race
 * and a lost update. With -DBUG the thread whose turn it is does not wait for the other one to step back. */
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

static void lock(int me) {
    int other = 1 - me;
    atomic_store(&wants[me], 1);
    while (atomic_load(&wants[other])) {
        if (atomic_load(&turn) == me) {
            /* From here on the other one steps back, or has left and will wait for its turn. */
#ifndef BUG
            AWAIT(!atomic_load(&wants[other]));
#endif
            break;
        }
        atomic_store(&wants[me], 0);
        AWAIT(atomic_load(&turn) == me);
        atomic_store(&wants[me], 1);
    }
}

static void unlock(int me) {
    atomic_store(&turn, 1 - me);
    atomic_store(&wants[me], 0);
}

static void *worker(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < N; i++) {
        lock(me);
        counter++;
        unlock(me);
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

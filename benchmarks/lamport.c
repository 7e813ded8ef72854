/* Lamport's second fast mutual exclusion algorithm: T threads acquire and release the lock once each.
 *
 * A thread starts again only if it saw another one release the lock, so that the program is bounded.
 * (L. Lamport, A Fast Mutual Exclusion Algorithm, ACM TOCS 5(1), 1987.) -DBUG leaves out the wait for `busy`. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "await.h"

#ifndef T
#define T 2
#endif

/* Threads are numbered from 1, and y is 0 if nobody has the lock. */
static atomic_int x, y, busy[T + 1];
static int counter;

static void lock(int me) {
    for (;;) {
        atomic_store(&busy[me], 1);
        atomic_store(&x, me);
        if (atomic_load(&y) != 0) {
            atomic_store(&busy[me], 0);
            AWAIT(atomic_load(&y) == 0);
            continue;
        }
        atomic_store(&y, me);
        if (atomic_load(&x) == me)
            return;
        atomic_store(&busy[me], 0);
#ifndef BUG
        for (int j = 1; j <= T; j++)
            AWAIT(!atomic_load(&busy[j]));
#endif
        if (atomic_load(&y) == me)
            return;
        AWAIT(atomic_load(&y) == 0);
    }
}

static void unlock(int me) {
    atomic_store(&y, 0);
    atomic_store(&busy[me], 0);
}

static void *worker(void *arg) {
    int me = (int)(intptr_t)arg;
    lock(me);
    counter++;
    unlock(me);
    return NULL;
}

int main(void) {
    pthread_t t[T];
    for (intptr_t i = 0; i < T; i++)
        pthread_create(&t[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < T; i++)
        pthread_join(t[i], NULL);
    assert(counter == T);
    return 0;
}

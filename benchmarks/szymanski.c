/* Szymanski's algorithm: T threads pass a waiting room with an entrance and an exit door, once each.
 *
 * flag: 0 outside, 1 wants to enter, 2 waits for others to come through the entrance, 3 stands in the door, 4 in the
 * waiting room with the door closed behind it. With -DBUG nobody waits for those with lower numbers. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "await.h"

#ifndef T
#define T 2
#endif

static atomic_int flag[T];
static int counter;

static int some(int value) {
    for (int j = 0; j < T; j++)
        if (atomic_load(&flag[j]) == value)
            return 1;
    return 0;
}

static void lock(int me) {
    atomic_store(&flag[me], 1);
    for (int j = 0; j < T; j++)
        AWAIT(atomic_load(&flag[j]) < 3);
    atomic_store(&flag[me], 3);
    if (some(1)) {
        atomic_store(&flag[me], 2);
        AWAIT(some(4));
    }
    atomic_store(&flag[me], 4);
#ifndef BUG
    for (int j = 0; j < me; j++)
        AWAIT(atomic_load(&flag[j]) < 2);
#endif
}

static void unlock(int me) {
    for (int j = me + 1; j < T; j++) {
        int other;
        AWAIT((other = atomic_load(&flag[j]), other < 2 || other > 3));
    }
    atomic_store(&flag[me], 0);
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
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < T; i++)
        pthread_join(t[i], NULL);
    assert(counter == T);
    return 0;
}

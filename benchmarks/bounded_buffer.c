/* P producers and C consumers share a ring of SIZE slots, with a mutex and two condition variables.
 *
 * Each producer puts ITEMS numbers; consumers share the work evenly. With -DBUG there is one condition variable for
 * both sides: a signal can then wake a thread of the wrong side, and all wait for ever. (P = C = 2 shows it.) */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef P
#define P 1
#endif
#ifndef C
#define C 1
#endif
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef SIZE
#define SIZE 1
#endif

_Static_assert(P * ITEMS % C == 0, "the consumers share the work evenly");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
#ifdef BUG
#define not_empty not_full
#else
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
#endif
static int ring[SIZE], used, first, sum;

static void put(int item) {
    pthread_mutex_lock(&lock);
    while (used == SIZE)
        pthread_cond_wait(&not_full, &lock);
    ring[(first + used++) % SIZE] = item;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static void take(void) {
    pthread_mutex_lock(&lock);
    while (used == 0)
        pthread_cond_wait(&not_empty, &lock);
    sum += ring[first];
    first = (first + 1) % SIZE;
    used--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
}

static void *producer(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < ITEMS; i++)
        put(me * ITEMS + i + 1);
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (int i = 0; i < P * ITEMS / C; i++)
        take();
    return NULL;
}

int main(void) {
    pthread_t t[P + C];
    for (intptr_t i = 0; i < P; i++)
        pthread_create(&t[i], NULL, producer, (void *)i);
    for (int i = 0; i < C; i++)
        pthread_create(&t[P + i], NULL, consumer, NULL);
    for (int i = 0; i < P + C; i++)
        pthread_join(t[i], NULL);
    assert(sum == P * ITEMS * (P * ITEMS + 1) / 2);
    return 0;
}

/* A bounded queue for many producers and many consumers: P threads put a number each, C threads try to take one each, BOTH
 * threads do one after the other.
 *
 * A word holds how many cells were claimed by producers and how many by consumers, and a compare-and-exchange on it claims
 * the next one. What was claimed is counted again when it is done, by a fetch-and-add whose result is not used. Who wants
 * a cell that was claimed before waits until all claims of the other kind are done. (After the queue of the Relacy and
 * CDSChecker suites.) With -DBUG it waits only until as many are done as had been claimed, as the original does: but these
 * can be others, and the cell is used too early.
 *
 * The price is a livelock once there are more producers than cells (P > SIZE): a consumer has claimed a cell and waits until
 * all claims to write are done, the producer of the last one among them, and that waits until the consumer is done. With
 * -DSPIN it is reported, under every model. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "await.h"

#ifndef P
#define P 2
#endif
#ifndef C
#define C 1
#endif
#ifndef BOTH
#define BOTH 0
#endif
#ifndef SIZE
#define SIZE 2
#endif

#define WRITES(claims) ((claims) & 0xffffu)
#define READS(claims) ((claims) >> 16)
#ifdef BUG
#define ALL_DONE(done, kind, claims) AWAIT(atomic_load_explicit(done, memory_order_acquire) >= kind(claims))
#else
#define ALL_DONE(done, kind, claims)                                                                                   \
    AWAIT((claims = atomic_load_explicit(done, memory_order_acquire)) ==                                               \
          kind(atomic_load_explicit(&claimed, memory_order_relaxed)))
#endif

static atomic_uint claimed, written, read;
static int cells[SIZE], taken[C + BOTH > 0 ? C + BOTH : 1];

/* Claims a cell to write to: its place, or -1 if the queue is full. */
static int claim_to_write(void) {
    for (;;) {
        unsigned claims = atomic_load_explicit(&claimed, memory_order_relaxed);
        unsigned mine = WRITES(claims);
        if (mine - READS(claims) == SIZE)
            return -1;
        if (atomic_compare_exchange_strong_explicit(&claimed, &claims, claims + 1, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            if (mine >= SIZE)
                ALL_DONE(&read, READS, claims);
            return (int)(mine % SIZE);
        }
    }
}

/* Claims a cell to read from: its place, or -1 if the queue is empty. */
static int claim_to_read(void) {
    for (;;) {
        unsigned claims = atomic_load_explicit(&claimed, memory_order_relaxed);
        unsigned mine = READS(claims);
        if (mine == WRITES(claims))
            return -1;
        if (atomic_compare_exchange_strong_explicit(&claimed, &claims, claims + 0x10000, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            ALL_DONE(&written, WRITES, claims);
            return (int)(mine % SIZE);
        }
    }
}

static void *producer(void *arg) {
    int at = claim_to_write();
    if (at >= 0) {
        cells[at] = (int)(intptr_t)arg;
        atomic_fetch_add_explicit(&written, 1, memory_order_release);
    }
    return NULL;
}

static void *consumer(void *arg) {
    int at = claim_to_read();
    if (at >= 0) {
        taken[(intptr_t)arg] = cells[at];
        atomic_fetch_add_explicit(&read, 1, memory_order_release);
    }
    return NULL;
}

static void *both(void *arg) {
    producer((void *)(P + 1 + (intptr_t)arg));
    consumer((void *)(C + (intptr_t)arg));
    return NULL;
}

int main(void) {
    pthread_t t[P + C + BOTH];
    for (intptr_t i = 0; i < P; i++)
        pthread_create(&t[i], NULL, producer, (void *)(i + 1));
    for (intptr_t i = 0; i < C; i++)
        pthread_create(&t[P + i], NULL, consumer, (void *)i);
    for (intptr_t i = 0; i < BOTH; i++)
        pthread_create(&t[P + C + i], NULL, both, (void *)i);
    for (int i = 0; i < P + C + BOTH; i++)
        pthread_join(t[i], NULL);
    int seen[P + BOTH + 1] = {0};
    for (int i = 0; i < C + BOTH; i++)
        seen[taken[i]]++;
    for (int i = 1; i <= P + BOTH; i++)
        assert(seen[i] <= 1);
    return 0;
}

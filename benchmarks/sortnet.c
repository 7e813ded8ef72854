/* A sorting network: N threads sort 2N numbers by Batcher's odd-even merge exchange.
 *
 * The comparators of a round are dealt out to the threads. A thread waits until the two numbers that it is to compare have
 * come through all earlier comparators, which is what their generations say. Nothing depends on the schedule, so as awaits
 * there is one trace for every N; as assumptions there are exponentially many that are blocked. (Jonsson, Lång, Sagonas,
 * Awaiting for Godot, FMCAD 2022, Fig. 1; K. E. Batcher, Sorting networks and their applications, 1968.) With -DBUG
 * a thread does not wait for the second of its two numbers. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "await.h"

#ifndef N
#define N 2
#endif
#define LANES (2 * N)
#define MOST 128

/* Exchanges what is on two lanes if it is in the wrong order; what has to have happened on each of them before. */
struct comparator {
    int thread, low, high, low_generation, high_generation;
};

static struct comparator network[MOST];
static int comparators;
static int number[LANES];
static atomic_int generation[LANES];

/* Merge exchange, for any number of lanes: the rounds are p, then the distances d. */
static void make_network(void) {
    int seen[LANES] = {0}, top = 1;
    while (2 * top < LANES)
        top *= 2;
    for (int p = top; p > 0; p /= 2) {
        int rest = 0, d = p;
        for (int q = top;; q /= 2) {
            int in_round = 0;
            for (int low = 0; low + d < LANES; low++) {
                int high = low + d;
                if ((low & p) == rest) {
                    assert(comparators < MOST);
                    network[comparators++] =
                        (struct comparator){in_round++ % N, low, high, seen[low]++, seen[high]++};
                }
            }
            if (q == p)
                break;
            d = q - p;
            rest = p;
        }
    }
}

static void *sorter(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < comparators; i++) {
        if (network[i].thread != me)
            continue;
        int low = network[i].low, at_low = network[i].low_generation;
        int high = network[i].high, at_high = network[i].high_generation;
        AWAIT(atomic_load_explicit(&generation[low], memory_order_acquire) == at_low);
#ifndef BUG
        AWAIT(atomic_load_explicit(&generation[high], memory_order_acquire) == at_high);
#endif
        if (number[low] > number[high]) {
            int larger = number[low];
            number[low] = number[high];
            number[high] = larger;
        }
        atomic_store_explicit(&generation[low], at_low + 1, memory_order_release);
        atomic_store_explicit(&generation[high], at_high + 1, memory_order_release);
    }
    return NULL;
}

int main(void) {
    pthread_t t[N];
    make_network();
    for (int i = 0; i < LANES; i++)
        number[i] = (5 * i + 3) % LANES;
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, sorter, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 1; i < LANES; i++)
        assert(number[i - 1] <= number[i]);
    return 0;
}

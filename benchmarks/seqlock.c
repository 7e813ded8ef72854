/* A sequence lock: W writers change two numbers together, R readers read both again until nobody wrote in between.
 *
 * The sequence is odd while somebody writes. An attempt to read that fails has no effect, nor has a writer's attempt to
 * make the sequence odd. (H.-J. Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012, for
 * the orders.) With -DBUG readers do not look at the sequence again. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "await.h"

#ifndef R
#define R 1
#endif
#ifndef W
#define W 2
#endif

static atomic_uint sequence;
static atomic_int first, second;

static void write_both(int value) {
    unsigned even;
    do {
        AWAIT(!((even = atomic_load_explicit(&sequence, memory_order_relaxed)) & 1));
    } while (!atomic_compare_exchange_strong_explicit(&sequence, &even, even + 1, memory_order_acquire,
                                                      memory_order_relaxed));
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&first, value, memory_order_relaxed);
    atomic_store_explicit(&second, value, memory_order_relaxed);
    atomic_store_explicit(&sequence, even + 2, memory_order_release);
}

static void *writer(void *arg) {
    write_both((int)(intptr_t)arg);
    return NULL;
}

static void *reader(void *arg) {
    unsigned before;
    int a, b;
    do {
        AWAIT(!((before = atomic_load_explicit(&sequence, memory_order_acquire)) & 1));
        a = atomic_load_explicit(&first, memory_order_relaxed);
        b = atomic_load_explicit(&second, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
#ifdef BUG
        break;
#endif
    } while (atomic_load_explicit(&sequence, memory_order_relaxed) != before);
    assert(a == b);
    return arg;
}

int main(void) {
    pthread_t t[R + W];
    for (intptr_t i = 0; i < W; i++)
        pthread_create(&t[i], NULL, writer, (void *)(i + 1));
    for (int i = 0; i < R; i++)
        pthread_create(&t[W + i], NULL, reader, NULL);
    for (int i = 0; i < R + W; i++)
        pthread_join(t[i], NULL);
    return 0;
}

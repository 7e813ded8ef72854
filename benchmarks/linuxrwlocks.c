/* A lock for readers and writers in one counter: R readers, W writers, and B threads that read and then write enter.
 *
 * A reader takes 1 off the counter, a writer takes everything; who took too much puts it back and waits. Nobody uses what
 * the counter was when something is put back, so these fetch-and-adds commute. An attempt that fails has an effect, if
 * only for a while: the outer loops are not pure. (The lock of Linux for x86, up to version 3.) With -DBUG a writer
 * ignores readers. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "await.h"

#ifndef R
#define R 1
#endif
#ifndef W
#define W 1
#endif
#ifndef B
#define B 1
#endif
#define THREADS (R + W + B)
#define ALL 0x100000

static atomic_int room = ALL;
static int data;

static void read_lock(void) {
    while (atomic_fetch_sub_explicit(&room, 1, memory_order_acquire) <= 0) {
        atomic_fetch_add_explicit(&room, 1, memory_order_relaxed);
        AWAIT(atomic_load_explicit(&room, memory_order_relaxed) > 0);
    }
}

static void read_unlock(void) {
    atomic_fetch_add_explicit(&room, 1, memory_order_release);
}

static void write_lock(void) {
#ifdef BUG
    while (atomic_fetch_sub_explicit(&room, ALL, memory_order_acquire) <= 0) {
#else
    while (atomic_fetch_sub_explicit(&room, ALL, memory_order_acquire) != ALL) {
#endif
        atomic_fetch_add_explicit(&room, ALL, memory_order_relaxed);
        AWAIT(atomic_load_explicit(&room, memory_order_relaxed) == ALL);
    }
}

static void write_unlock(void) {
    atomic_fetch_add_explicit(&room, ALL, memory_order_release);
}

static void *reader(void *arg) {
    read_lock();
    assert(data >= 0 && data <= W + B);
    read_unlock();
    return arg;
}

static void *writer(void *arg) {
    write_lock();
    data++;
    write_unlock();
    return arg;
}

static void *both(void *arg) {
    reader(arg);
    return writer(arg);
}

int main(void) {
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, i < R ? reader : i < R + W ? writer : both, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert(data == W + B);
    return 0;
}

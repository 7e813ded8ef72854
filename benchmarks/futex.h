/* What a kernel does for those who wait on a word.
 *
 * There is one counter of wake-ups. Who waits notes it, looks whether the word still is what it was, and then waits until
 * the counter changes. A wake-up wakes everybody; to be woken without a reason is allowed. */
#ifndef FUTEX_H
#define FUTEX_H

#include <stdatomic.h>

#include "await.h"

static atomic_uint wake_ups;

static void futex_wait(atomic_int *word, int expected) {
    unsigned seen = atomic_load_explicit(&wake_ups, memory_order_acquire);
    if (atomic_load_explicit(word, memory_order_relaxed) == expected)
        AWAIT(atomic_load_explicit(&wake_ups, memory_order_acquire) != seen);
}

static void futex_wake(void) {
    atomic_fetch_add_explicit(&wake_ups, 1, memory_order_release);
}

#endif

/* The work-stealing deque of Chase and Lev: the owner pushes ITEMS numbers and takes as many back, while THIEVES threads
 * try to steal STEALS each.
 *
 * Nothing may be got twice. Orders and fences as in Lê, Pop, Cohen, Zappa Nardelli, Correct and Efficient Work-Stealing
 * for Weak Memory Models, PPoPP 2013. With -DBUG the owner takes the last item without competing for it. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef THIEVES
#define THIEVES 1
#endif
#ifndef STEALS
#define STEALS 1
#endif

static atomic_int buffer[ITEMS];
static atomic_int top, bottom;
static atomic_int got[ITEMS + 1];

static void push(int item) {
    int b = atomic_load_explicit(&bottom, memory_order_relaxed);
    atomic_store_explicit(&buffer[b % ITEMS], item, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

static int take(void) {
    int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    int t = atomic_load_explicit(&top, memory_order_relaxed);
    int item = 0;
    if (t <= b) {
        item = atomic_load_explicit(&buffer[b % ITEMS], memory_order_relaxed);
        if (t < b)
            return item;
#ifndef BUG
        if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
            item = 0;
#endif
    }
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    return item;
}

static int steal(void) {
    int t = atomic_load_explicit(&top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    int b = atomic_load_explicit(&bottom, memory_order_acquire);
    if (t >= b)
        return 0;
    int item = atomic_load_explicit(&buffer[t % ITEMS], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
        return 0;
    return item;
}

static void note(int item) {
    if (item) {
        int before = atomic_exchange(&got[item], 1);
        assert(before == 0);
    }
}

static void *owner(void *arg) {
    (void)arg;
    for (int i = 1; i <= ITEMS; i++)
        push(i);
    for (int i = 0; i < ITEMS; i++)
        note(take());
    return NULL;
}

static void *thief(void *arg) {
    (void)arg;
    for (int i = 0; i < STEALS; i++)
        note(steal());
    return NULL;
}

int main(void) {
    pthread_t t[THIEVES + 1];
    pthread_create(&t[0], NULL, owner, NULL);
    for (int i = 1; i <= THIEVES; i++)
        pthread_create(&t[i], NULL, thief, NULL);
    for (int i = 0; i <= THIEVES; i++)
        pthread_join(t[i], NULL);
    return 0;
}

/* fib(N): x = y = 1; one thread adds y to x, another x to y, N times each, in separate steps; a third checks that
 * neither is above LIMIT.
 *
 * 1698 traces for N = 3, 19605 for N = 4, 218243 for N = 5. The largest value for N = 5 is the 12th Fibonacci number,
 * 144: with -DLIMIT=143 a few of the schedules fail. (The SV-COMP program of this name.) */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 3
#endif
#ifndef LIMIT
#define LIMIT 144
#endif

static atomic_int x = 1, y = 1;

static void *into_x(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        int a = atomic_load_explicit(&x, memory_order_acquire);
        int b = atomic_load_explicit(&y, memory_order_acquire);
        atomic_store_explicit(&x, a + b, memory_order_release);
    }
    return NULL;
}

static void *into_y(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        int a = atomic_load_explicit(&x, memory_order_acquire);
        int b = atomic_load_explicit(&y, memory_order_acquire);
        atomic_store_explicit(&y, a + b, memory_order_release);
    }
    return NULL;
}

static void *check(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&x, memory_order_acquire) > LIMIT ||
        atomic_load_explicit(&y, memory_order_acquire) > LIMIT)
        assert(0 && "too large");
    return NULL;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, into_x, NULL);
    pthread_create(&t[1], NULL, into_y, NULL);
    pthread_create(&t[2], NULL, check, NULL);
    return 0;
}

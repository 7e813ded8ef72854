// RUN: check
// EXPECT: verified complete=1 blocked=0
// Booleans, pointers, small structs, floats, enumerations, flags and fences.
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

struct pair {
    short a, b;
};

int main(void) {
    atomic_bool flag = false;
    assert(!atomic_exchange(&flag, true) && atomic_load(&flag));

    int array[4] = {0, 1, 2, 3};
    _Atomic(int *) p = array;
    assert(atomic_fetch_add(&p, 2) == array && *atomic_load(&p) == 2);
    assert(*atomic_fetch_sub(&p, 1) == 2 && *p == 1);

    _Atomic struct pair s;
    atomic_init(&s, ((struct pair){1, 2}));
    struct pair t = atomic_load(&s);
    assert(t.a == 1 && t.b == 2);
    t.a = 5;
    atomic_store(&s, t);
    struct pair u = atomic_load(&s);
    assert(u.a == 5 && u.b == 2);

    _Atomic float f = 1.5f;
    f += 2.0f;
    assert(f == 3.5f);
    _Atomic double d = 0.25;
    assert(atomic_exchange(&d, 4.0) == 0.25 && d == 4.0);

    atomic_flag lock = ATOMIC_FLAG_INIT;
    assert(!atomic_flag_test_and_set(&lock));
    assert(atomic_flag_test_and_set(&lock));
    atomic_flag_clear(&lock);
    assert(!atomic_flag_test_and_set_explicit(&lock, memory_order_acquire));

    atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_acquire);
    assert(atomic_is_lock_free(&flag));
}

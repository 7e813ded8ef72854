// RUN: check
// EXPECT: verified complete=1 blocked=0
// The __atomic builtins.
#include <assert.h>
#include <stdbool.h>

int main(void) {
    short x = 3;
    assert(__atomic_load_n(&x, __ATOMIC_ACQUIRE) == 3);
    __atomic_store_n(&x, 4, __ATOMIC_RELEASE);
    assert(__atomic_exchange_n(&x, 5, __ATOMIC_ACQ_REL) == 4);
    short expected = 4;
    assert(!__atomic_compare_exchange_n(&x, &expected, 6, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) && expected == 5);
    assert(__atomic_compare_exchange_n(&x, &expected, 6, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    assert(__atomic_add_fetch(&x, 2, __ATOMIC_RELAXED) == 8);
    assert(__atomic_sub_fetch(&x, 1, __ATOMIC_RELAXED) == 7);
    assert(__atomic_fetch_nand(&x, 5, __ATOMIC_RELAXED) == 7 && x == ~5);
    assert(__atomic_and_fetch(&x, 15, __ATOMIC_RELAXED) == 10);
    assert(__atomic_or_fetch(&x, 1, __ATOMIC_RELAXED) == 11);
    assert(__atomic_xor_fetch(&x, 1, __ATOMIC_RELAXED) == 10);
    long a = 1, b = 2, old;
    __atomic_exchange(&a, &b, &old, __ATOMIC_SEQ_CST);
    assert(a == 2 && old == 1);
    __atomic_load(&a, &old, __ATOMIC_SEQ_CST);
    assert(old == 2);
    bool flag = false;
    assert(!__atomic_test_and_set(&flag, __ATOMIC_ACQUIRE) && flag);
    __atomic_clear(&flag, __ATOMIC_RELEASE);
    assert(!flag);
    int s = -3;
    unsigned u = 3;
    assert(__atomic_fetch_max(&s, 2, __ATOMIC_RELAXED) == -3 && s == 2);
    assert(__atomic_fetch_min(&s, -7, __ATOMIC_RELAXED) == 2 && s == -7);
    assert(__atomic_fetch_max(&u, -1u, __ATOMIC_RELAXED) == 3 && u == -1u);
    assert(__atomic_fetch_min(&u, 1, __ATOMIC_RELAXED) == -1u && u == 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

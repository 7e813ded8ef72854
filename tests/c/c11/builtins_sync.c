// RUN: check
// EXPECT: verified complete=1 blocked=0
// The __sync builtins.
#include <assert.h>

#pragma clang diagnostic ignored "-Wsync-fetch-and-nand-semantics-changed"

int main(void) {
    int x = 10;
    assert(__sync_fetch_and_add(&x, 5) == 10);
    assert(__sync_add_and_fetch(&x, 5) == 20);
    assert(__sync_fetch_and_sub(&x, 1) == 20);
    assert(__sync_sub_and_fetch(&x, 1) == 18);
    assert(__sync_fetch_and_or(&x, 1) == 18);
    assert(__sync_fetch_and_and(&x, 3) == 19);
    assert(__sync_fetch_and_xor(&x, 1) == 3);
    assert(__sync_fetch_and_nand(&x, 3) == 2 && x == ~2);
    assert(__sync_nand_and_fetch(&x, ~0) == 2);
    assert(__sync_bool_compare_and_swap(&x, 2, 7));
    assert(!__sync_bool_compare_and_swap(&x, 2, 8));
    assert(__sync_val_compare_and_swap(&x, 7, 9) == 7);
    assert(__sync_lock_test_and_set(&x, 1) == 9);
    __sync_lock_release(&x);
    assert(x == 0);
    __sync_synchronize();
    char c = 1;
    assert(__sync_fetch_and_add(&c, 127) == 1 && c == -128);
    long l = 1;
    assert(__sync_add_and_fetch(&l, 1L << 40) == (1L << 40) + 1);
}

// Atomic operations in one thread: results and new values.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define SHOW(result, x)                                                                                                \
    do {                                                                                                               \
        long long before = (result) + 0ll;                                                                            \
        printf("%lld %lld\n", before, (long long)(x));                                                                 \
    } while (0)

int main(void) {
    _Atomic uint8_t a = 250;
    _Atomic int16_t b = -5;
    atomic_int c = 7;
    _Atomic uint64_t d = 1;
    SHOW(atomic_fetch_add(&a, 10), a);
    SHOW(atomic_fetch_sub(&b, 32765), b);
    SHOW(atomic_fetch_xor(&c, 5), c);
    SHOW(atomic_fetch_or(&d, 1ull << 63), d);
    SHOW(atomic_exchange(&c, -9), c);
    int expected = 3;
    SHOW(atomic_compare_exchange_strong(&c, &expected, 4), expected);
    SHOW(atomic_compare_exchange_strong(&c, &expected, 4), expected);
    SHOW(c += 10, c);
    SHOW(c *= 3, c);
    SHOW(c--, c);
    int plain = 12;
    SHOW(__atomic_fetch_nand(&plain, 10, __ATOMIC_SEQ_CST), plain);
    SHOW(__atomic_fetch_max(&plain, 3, __ATOMIC_SEQ_CST), plain);
    SHOW(__sync_lock_test_and_set(&plain, 77), plain);
    _Atomic double f = 0.5;
    f += 1.25;
    printf("%g\n", f);
    int array[3] = {1, 2, 3};
    _Atomic(int *) p = array;
    atomic_fetch_add(&p, 2);
    printf("%d\n", *p);
    return 0;
}

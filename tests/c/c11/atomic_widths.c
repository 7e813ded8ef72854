// RUN: check
// EXPECT: verified complete=1 blocked=0
// All operations on 8, 16, 32 and 64 bits, signed and unsigned, wrap at their width.
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define TEST(T, A)                                                                                                     \
    do {                                                                                                               \
        A x;                                                                                                           \
        atomic_init(&x, 0);                                                                                            \
        assert(atomic_fetch_sub(&x, 1) == 0);                                                                          \
        assert(atomic_load(&x) == (T)-1);                                                                              \
        assert(atomic_fetch_add(&x, 3) == (T)-1);                                                                      \
        assert(atomic_fetch_or(&x, 5) == 2);                                                                           \
        assert(atomic_fetch_and(&x, 6) == 7);                                                                          \
        assert(atomic_fetch_xor(&x, 15) == 6);                                                                         \
        assert(atomic_exchange(&x, 100) == 9);                                                                         \
        T expected = 99;                                                                                               \
        assert(!atomic_compare_exchange_strong(&x, &expected, 1) && expected == 100);                                  \
        assert(atomic_compare_exchange_strong(&x, &expected, 1) && atomic_load(&x) == 1);                              \
        x = 7;                                                                                                         \
        x += 2;                                                                                                        \
        assert(x-- == 9 && ++x == 9);                                                                                  \
    } while (0)

int main(void) {
    TEST(int8_t, _Atomic int8_t);
    TEST(uint8_t, _Atomic uint8_t);
    TEST(int16_t, _Atomic int16_t);
    TEST(uint16_t, _Atomic uint16_t);
    TEST(int32_t, _Atomic int32_t);
    TEST(uint32_t, _Atomic uint32_t);
    TEST(int64_t, _Atomic int64_t);
    TEST(uint64_t, _Atomic uint64_t);
}

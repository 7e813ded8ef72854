// The counting builtins and their hand-written versions.
#include <stdint.h>
#include <stdio.h>

static int count(uint64_t x) {
    int n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

int main(void) {
    uint64_t x = 1;
    for (int i = 0; i < 40; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t y = (uint32_t)(x >> 32) | 1u;
        printf("%d %d %d %d %d %d %d\n", count(x), __builtin_popcountll(x), __builtin_popcount(y), __builtin_clz(y),
               __builtin_ctzll(x | 1ull << 40), __builtin_clzll(x | 1), __builtin_parity(y));
        printf("%x %llx %x\n", __builtin_bswap32(y), (unsigned long long)__builtin_bswap64(x),
               __builtin_bswap16((uint16_t)y));
    }
    return 0;
}

// And, or, xor, not, shifts and rotations.
#include <stdint.h>
#include <stdio.h>

static uint32_t rotate(uint32_t x, unsigned n) {
    return x << (n & 31) | x >> (-n & 31);
}

int main(void) {
    volatile uint32_t x = 0xdeadbeef;
    volatile int32_t y = -12345;
    volatile uint64_t z = 0x0123456789abcdef;
    printf("%x %x %x %x\n", x & 0xff00ff, x | 0x10101010, x ^ 0xffffffff, ~x);
    for (int i = 0; i < 32; i += 5)
        printf("%x %x %d %x\n", x << i, x >> i, y >> i, rotate(x, (unsigned)i));
    for (int i = 0; i < 64; i += 9)
        printf("%llx %llx %lld\n", (unsigned long long)(z << i), (unsigned long long)(z >> i),
               (long long)((int64_t)~z >> i));
    volatile uint8_t b = 0x81;
    printf("%x %x %d\n", (uint8_t)(b << 1), b >> 1, (int8_t)b >> 1);
    return 0;
}

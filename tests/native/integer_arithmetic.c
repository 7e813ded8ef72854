// Arithmetic of all widths, with wrap-around of unsigned types.
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

int main(void) {
    volatile uint8_t a = 250;
    volatile uint16_t b = 65000;
    volatile uint32_t c = 4000000000u;
    volatile uint64_t d = 18000000000000000000ull;
    volatile int8_t e = -100;
    volatile int16_t f = -30000;
    volatile int32_t g = -2000000000;
    volatile int64_t h = -9000000000000000000ll;
    printf("%u %u %u %llu\n", (uint8_t)(a + 10), (uint16_t)(b * 3), c * 2, (unsigned long long)(d + d));
    printf("%d %d %d %lld\n", (int8_t)(e - 100), (int16_t)(f * 2), g / 7, (long long)(h / 11));
    printf("%d %d %d %d\n", -7 / 2, -7 % 2, 7 / -2, 7 % -2);
    printf("%u %u\n", c / 7, c % 7);
    printf("%llu %llu\n", (unsigned long long)(d / 3), (unsigned long long)(d % 1000000007));
    printf("%lld %lld\n", (long long)(h / -3), (long long)(h % 1000000007));
    printf("%d %d %ld\n", INT_MAX, INT_MIN, LONG_MIN);
    a++;
    b--;
    c += a;
    d -= c;
    printf("%u %u %u %llu\n", a, b, c, (unsigned long long)d);
    return 0;
}

// Between integers of all widths and signs.
#include <stdint.h>
#include <stdio.h>

int main(void) {
    long long values[] = {0, 1, -1, 127, 128, 255, 256, -128, -129, 32767, 32768, 65535, 65536, 2147483647, 2147483648ll,
                          -2147483648ll, -2147483649ll, 4294967295ll, 4294967296ll, 9223372036854775807ll};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        volatile long long v = values[i];
        printf("%d %u %d %u %d %u %lld %llu %d\n", (int8_t)v, (uint8_t)v, (int16_t)v, (uint16_t)v, (int32_t)v,
               (uint32_t)v, (long long)v, (unsigned long long)v, (_Bool)v);
        volatile int8_t s = (int8_t)v;
        volatile uint8_t u = (uint8_t)v;
        printf("%d %u %lld %llu %d\n", s, (unsigned)s, (long long)s, (unsigned long long)u, s < u);
    }
    volatile unsigned u = 1;
    volatile int s = -1;
    printf("%d %d\n", s < (int)u, (unsigned)s < u);
    return 0;
}

// Between integers and floating point.
#include <stdint.h>
#include <stdio.h>

int main(void) {
    double values[] = {0.0, 0.5, 0.999, 1.0, -1.5, 127.9, -128.9, 65535.5, 2147483647.0, -2147483648.0, 1e15, -1e15};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        volatile double v = values[i];
        volatile float f = (float)v;
        printf("%lld %.9g", (long long)v, (double)f);
        if (v >= -2147483648.0 && v <= 2147483647.0)
            printf(" %d", (int)v);
        if (v >= 0.0)
            printf(" %llu", (unsigned long long)v);
        printf("\n");
    }
    volatile uint64_t big = 18446744073709551615ull;
    volatile int64_t small = -9223372036854775807ll;
    volatile uint32_t u = 4294967295u;
    printf("%.17g %.17g %.17g %.9g\n", (double)big, (double)small, (double)u, (double)(float)16777217);
    return 0;
}

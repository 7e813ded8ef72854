// Arithmetic that says whether it overflowed.
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

int main(void) {
    int values[] = {0, 1, -1, INT_MAX, INT_MIN, 46341, -46341, 1000000};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            int s, d, p;
            int os = __builtin_add_overflow(values[i], values[j], &s);
            int od = __builtin_sub_overflow(values[i], values[j], &d);
            int op = __builtin_mul_overflow(values[i], values[j], &p);
            printf("%d%d%d %d %d %d\n", os, od, op, s, d, p);
        }
    uint64_t u;
    printf("%d", __builtin_add_overflow(UINT64_MAX, (uint64_t)1, &u));
    printf(" %llu", (unsigned long long)u);
    printf(" %d", __builtin_mul_overflow((uint64_t)1 << 40, (uint64_t)1 << 30, &u));
    printf(" %llu\n", (unsigned long long)u);
    int64_t s;
    printf("%d", __builtin_sub_overflow(INT64_MIN, (int64_t)1, &s));
    printf(" %lld\n", (long long)s);
    unsigned char b;
    printf("%d", __builtin_add_overflow((unsigned char)200, (unsigned char)100, &b));
    printf(" %d\n", b);
    return 0;
}

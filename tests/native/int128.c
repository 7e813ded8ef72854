// 128-bit arithmetic.
#include <stdint.h>
#include <stdio.h>

static void show(unsigned __int128 x) {
    printf("%016llx%016llx\n", (unsigned long long)(x >> 64), (unsigned long long)x);
}

int main(void) {
    volatile uint64_t a = 0xfedcba9876543210ull, b = 0x0f1e2d3c4b5a6978ull;
    unsigned __int128 x = (unsigned __int128)a << 64 | b, y = (unsigned __int128)a * b;
    __int128 s = -(__int128)b * 1000;
    show(x);
    show(y);
    show(x + y);
    show(x - y);
    show(x ^ y);
    show((unsigned __int128)s);
    show((unsigned __int128)(s >> 17));
    show(x >> 100);
    show(y << 33);
    show(x / b);
    show(x % a);
    show(x / 10);
    printf("%d %d %d\n", x > y, s < 0, (__int128)x < (__int128)y);
    return 0;
}

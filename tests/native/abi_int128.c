// 128-bit integers: arithmetic, division, shifts by unknown amounts, comparisons, conversions, arguments.
#include <stdio.h>

typedef __int128 i128;
typedef unsigned __int128 u128;

static void show(const char *what, u128 v) { printf("%s %016lx%016lx\n", what, (unsigned long)(v >> 64), (unsigned long)v); }
static i128 mix(i128 a, int b, i128 c, i128 d, i128 e) { return a + b * c - d * e; }
static u128 shift(u128 v, int n) { return (v << n) | (v >> (127 - n)); }
static int compare(i128 a, i128 b) { return (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5; }
static int compare_unsigned(u128 a, u128 b) { return (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3; }

static void checked(i128 a, i128 b) {
    i128 r;
    u128 u;
    printf("%d%d%d", __builtin_add_overflow(a, b, &r), __builtin_sub_overflow(a, b, &r), __builtin_mul_overflow(a, b, &r));
    show(" signed", (u128)r);
    printf("%d%d%d", __builtin_add_overflow((u128)a, (u128)b, &u), __builtin_sub_overflow((u128)a, (u128)b, &u), __builtin_mul_overflow((u128)a, (u128)b, &u));
    show(" unsigned", u);
}

static u128 constant = ((u128)0x0123456789abcdef << 64) | 0xfedcba9876543210;
static i128 numbers[4] = {1, -1, (i128)1 << 100, -((i128)1 << 90)};

int main(void) {
    u128 a = constant, b = ((u128)3 << 70) + 12345;
    show("add", a + b); show("sub", a - b); show("mul", a * b); show("neg", -a); show("not", ~a);
    show("div", a / b); show("rem", a % b); show("div", a / 7); show("rem", b % 1000000007);
    for (int i = 0; i < 128; i += 13) show("shift", shift(a, i));
    for (int i = 0; i < 128; i += 17) show("ashr", (u128)((i128)~a >> i));
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            printf("%d %d ", compare(numbers[i], numbers[j]), compare_unsigned(numbers[i], numbers[j]));
            show("q", (u128)(numbers[i] / numbers[j])); show("r", (u128)(numbers[i] % (numbers[j] + 3)));
        }
    }
    show("mix", (u128)mix(numbers[2], -3, numbers[3], 5, numbers[1]));
    i128 small = -5; long l = (long)small; int n = (int)(small * 3); unsigned char c = (unsigned char)(a >> 60);
    printf("%ld %d %d %d\n", l, n, c, (int)(small < 0));
    show("widen", (u128)(i128)l); show("widen", (u128)(unsigned long)l); show("widen", (u128)(signed char)c);
    i128 limits[] = {0, 1, -1, ~((i128)1 << 127), (i128)1 << 127, (i128)1 << 63, -((i128)1 << 63), (i128)3 << 62, 5};
    for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) checked(limits[i], limits[j]);
    long x = 5; unsigned long y = ~0UL; long z; int o = __builtin_add_overflow(x, y, &z);
    printf("%d %ld %d\n", o, z, __builtin_mul_overflow(x, y, &z));
    for (int i = 0; i < 9; i++) show("abs", (u128)(limits[i] < 0 ? -limits[i] : limits[i]));
    u128 product = 1;
    for (int i = 1; i <= 33; i++) product *= i;
    show("33!", product);
    while (product) { printf("%d", (int)(product % 10)); product /= 10; }
    printf("\n");
    a += 1; a -= b; a *= 3; a ^= b; a |= 1; a &= ~(u128)4; a <<= 3; a >>= 1;
    show("ops", a);
    return 0;
}

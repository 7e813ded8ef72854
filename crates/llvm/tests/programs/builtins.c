// Builtins that become intrinsics, inline assembly, setjmp, and what the optimiser adds on its own.
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

jmp_buf environment;
char buffer[64];

int bits(unsigned x, unsigned long y, unsigned short z) {
    int n = __builtin_popcount(x) + __builtin_popcountl(y) + __builtin_clz(x | 1) + __builtin_ctzl(y | 1);
    n += __builtin_parity(x) + __builtin_ffs((int)x) + __builtin_ffsl((long)y) + __builtin_clrsb((int)x);
    n += (int)(__builtin_bswap32(x) ^ __builtin_bswap16(z) ^ __builtin_bswap64(y) ^ __builtin_bitreverse32(x));
    return n + (int)__builtin_rotateleft32(x, z) + (int)((x << (z & 31)) | (x >> (-z & 31)));
}

int overflow(int a, int b, unsigned long c, unsigned long d, long e) {
    int r;
    unsigned long u;
    long l;
    short s;
    return __builtin_add_overflow(a, b, &r) + __builtin_sub_overflow(a, b, &r) + __builtin_mul_overflow(a, b, &r)
        + __builtin_add_overflow(c, d, &u) + __builtin_sub_overflow(c, d, &u) + __builtin_mul_overflow(c, d, &u)
        + __builtin_add_overflow(c, e, &l) + __builtin_mul_overflow(a, c, &s) + r + (int)u + (int)l + s;
}

double mathematics(double x, float y, int n) {
    double r = fabs(x) + sqrt(x) + floor(x) + ceil(x) + trunc(x) + round(x) + rint(x) + nearbyint(x) + fma(x, x, x);
    r += fmin(x, 2) + fmax(x, 3) + copysign(x, -1) + pow(x, 2.5) + exp(x) + log(x) + sin(x) + cos(x) + log2(x) + exp2(x);
    r += sqrtf(y) + fabsf(y) + powf(y, y) + __builtin_powi(x, n) + lround(x) + llrint(x) + fmod(x, 3);
    r += isnan(x) + isinf(x) + isfinite(y) + signbit(x) + (x < y) + (x != y) + isunordered(x, y);
    return r + (double)(long)x + (double)(unsigned long)x + (float)n + (double)(unsigned)n + -x;
}

void memory(char *a, const char *b, size_t n) {
    memcpy(a, b, n);
    memmove(a, b, 16);
    memset(a, 0, n);
    __builtin_memcpy_inline(a, b, 8);
    __builtin_prefetch(a, 1, 3);
    if (__builtin_object_size(buffer, 0) > n) strcpy(buffer, "text");
    char *block = __builtin_alloca(n);
    block[n - 1] = __builtin_expect(*b, 1) ? 'x' : 'y';
    __builtin_assume(n > 3);
    a = __builtin_assume_aligned(a, 16);
    for (size_t i = 0; i < n; i++) a[i] = b[i] + block[i];
}

int assembly(int x) {
    int y = x;
    __asm__ volatile("" ::: "memory");
    __asm__ volatile("" : "+r"(y) : : "memory");
    __asm__ volatile("" : "+m"(y));
#ifdef __x86_64__
    __asm__ volatile("mfence" ::: "memory");
    __asm__ volatile("pause");
    __asm__ volatile("lock; addl $0,0(%%rsp)" ::: "memory", "cc");
    __asm__ volatile("xaddl %0, %1" : "+r"(y), "+m"(x) : : "memory", "cc");
    __builtin_ia32_mfence();
    __builtin_ia32_pause();
    __asm__ goto("jmp %l0" : : : : out);
#endif
    y++;
out:
    return y;
}

int jumps(int x) {
    if (setjmp(environment)) return 1;
    if (x > 5) longjmp(environment, 2);
    if (x == 4) __builtin_trap();
    if (x == 3) __builtin_unreachable();
    if (x == 2) abort();
    return __builtin_constant_p(x) + (__builtin_return_address(0) != 0);
}

int vla(int n) {
    int sum = 0;
    for (int i = 1; i < n; i++) {
        int a[i], b[i][n];
        a[i - 1] = i;
        b[i - 1][n - 1] = i;
        sum += a[i - 1] + b[i - 1][n - 1];
    }
    return sum;
}

int reduce(const int *a, const double *d, const unsigned char *c, int n) {
    int sum = 0, greatest = 0, mask = -1;
    unsigned bytes = 0;
    double total = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * a[i];
        greatest = a[i] > greatest ? a[i] : greatest;
        mask &= a[i];
        bytes += c[i];
        total += d[i];
    }
    return sum + greatest + mask + (int)bytes + (int)total + abs(sum);
}

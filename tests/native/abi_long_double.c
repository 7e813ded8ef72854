// Values that can be carried but not computed with: long double and complex numbers in structs, arrays and calls.
#include <complex.h>
#include <stdio.h>
#include <string.h>

struct holder { int before; long double value; int after; };
static long double number = 1.5L, numbers[3] = {0.25L, -2.0L, 1e300L};
static long double pass(long double v, int n) { return n > 2 ? v : pass(v, n + 1); }
static struct holder wrap(int a, long double v) { struct holder h; memset(&h, 0, sizeof h); h.before = a; h.value = v; h.after = -a; return h; }
static double complex twist(double complex z) { return conj(z) + 1.0; }
static float complex half(float complex z) { return z * 0.5f; }

static void bytes(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]);
    printf("\n");
}

int main(void) {
    long double v = pass(number, 0), a[3];
    memset(&a, 0, sizeof a);
    for (int i = 0; i < 3; i++) a[i] = numbers[2 - i];
    struct holder h = wrap(7, a[0]);
    for (int i = 0; i < 3; i++) bytes(&a[i], 10);
    bytes(&v, 10);
    bytes(&h.value, 10);
    printf("%d %d %zu\n", h.before, h.after, sizeof h);
    double complex z = twist(2.0 + 3.0 * I);
    float complex w = half(1.0f + 4.0f * I);
    printf("%g %g %g %g\n", creal(z), cimag(z), crealf(w), cimagf(w));
    z = z * z - z * (1.0 + 1.0 * I);
    printf("%g %g\n", creal(z), cimag(z));
    return 0;
}

// Newton's method, series, and the functions that are instructions.
#include <stdio.h>

static double root(double x) {
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; i++)
        r = (r + x / r) / 2;
    return r;
}

static double sine(double x) {
    double term = x, sum = x;
    for (int n = 1; n < 20; n++) {
        term *= -x * x / ((2 * n) * (2 * n + 1));
        sum += term;
    }
    return sum;
}

static float mean(const float *a, int n) {
    float total = 0;
    for (int i = 0; i < n; i++)
        total += a[i];
    return total / (float)n;
}

int main(void) {
    for (int i = 1; i <= 5; i++)
        printf("%.15g %.12f\n", root(i * 1.7), sine(i * 0.5));
    float a[] = {0.1f, 0.2f, 0.3f, 1e7f, -1e7f};
    printf("%.9g\n", (double)mean(a, 5));
    printf("%.15g\n", __builtin_fabs(-2.75));
    double best = -1e308;
    const double xs[] = {3.5, -2, 8.25, 8.125};
    for (int i = 0; i < 4; i++)
        best = xs[i] > best ? xs[i] : best;
    printf("%g\n", best);
    return 0;
}

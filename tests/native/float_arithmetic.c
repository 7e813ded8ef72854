// Doubles and floats: the four operations, comparisons, special values.
#include <stdio.h>

int main(void) {
    volatile double a = 1.5, b = -2.25, zero = 0.0;
    volatile float f = 0.1f, g = 3.0f;
    printf("%f %f %f %f\n", a + b, a - b, a * b, a / b);
    printf("%.17g %.17g %.9g\n", (double)f, 0.1 + 0.2, (double)(f * g));
    printf("%d %d %d %d %d %d\n", a < b, a <= b, a > b, a >= b, a == b, a != b);
    double inf = a / zero, nan = zero / zero;
    printf("%f %f\n", inf, -inf);
    printf("%d %d %d %d\n", nan == nan, nan != nan, nan < 1.0, !(nan >= 1.0));
    printf("%f %d\n", -zero, 0.0 == -zero);
    printf("%e %g %g %g\n", 12345.6789, 1e100, 1e-5, 123456789.0);
    printf("%.0f %.1f %.2f %.3f\n", 2.5, 0.25, 1.005, 2.0005);
    printf("%.9g %.9g\n", (double)(f + 1e8f), (double)(g / 7.0f));
    double sum = 0;
    for (int i = 1; i <= 1000; i++)
        sum += 1.0 / i;
    printf("%.15f\n", sum);
    return 0;
}

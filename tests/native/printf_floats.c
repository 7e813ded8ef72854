// Fixed, exponent and general notation.
#include <stdio.h>

int main(void) {
    double values[] = {0.0,   1.0,    -1.0,      0.1,         123.456,    -0.000123, 1e10,
                       1e-10, 1e22,   123456789, 0.5,         2.5,        1.0 / 3,   99999.95,
                       1e300, 1e-300, 999999.5,  9.9999995e5, 4.9407e-324};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        double v = values[i];
        printf("[%f] [%.0f] [%.3f] [%12.2f] [%-12.2f] [%+.1f] [%012.3f]\n", v, v, v, v, v, v, v);
        printf("[%e] [%.2e] [%.0e] [%E]\n", v, v, v, v);
        printf("[%g] [%.3g] [%.10g] [%G] [%#.9g] [%.17g]\n", v, v, v, v, v, v);
    }
    double zero = 0.0;
    printf("[%f] [%e] [%g] [%5f] [%F] [%f]\n", 1 / zero, -1 / zero, 1 / zero, 1 / zero, 1 / zero, -zero);
    return 0;
}

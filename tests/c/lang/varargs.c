// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <stdarg.h>

static long sum(int n, ...) {
    va_list args, again;
    va_start(args, n);
    va_copy(again, args);
    long total = 0;
    for (int i = 0; i < n; i++)
        total += va_arg(args, int);
    for (int i = 0; i < n; i++)
        total += va_arg(again, int);
    va_end(again);
    va_end(args);
    return total;
}

static double mixed(const char *kinds, ...) {
    va_list args;
    va_start(args, kinds);
    double total = 0;
    for (; *kinds; kinds++)
        total += *kinds == 'd' ? va_arg(args, double) : *kinds == 'l' ? (double)va_arg(args, long) : va_arg(args, int);
    va_end(args);
    return total;
}

int main(void) {
    assert(sum(0) == 0);
    assert(sum(3, 1, 2, 3) == 12);
    assert(sum(10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 110);
    assert(mixed("idldddddddddil", 1, 2.5, 3L, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4, 5L) == 24.5);
}

// Variadic functions of our own: more arguments than registers, of mixed types, and va_copy.
#include <stdarg.h>
#include <stdio.h>

struct pair {
    long a, b;
};

static long sum(int n, ...) {
    va_list ap;
    va_start(ap, n);
    long total = 0;
    for (int i = 0; i < n; i++)
        total = total * 3 + va_arg(ap, int);
    va_end(ap);
    return total;
}

static double mixed(const char *format, ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    double total = 0;
    for (int pass = 0; pass < 2; pass++)
        for (const char *f = format; *f; f++) {
            va_list *which = pass ? &again : &ap;
            switch (*f) {
            case 'i': total += va_arg(*which, int); break;
            case 'l': total += (double)va_arg(*which, long long); break;
            case 'd': total += va_arg(*which, double); break;
            case 'p': total += *va_arg(*which, int *); break;
            }
        }
    va_end(again);
    va_end(ap);
    return total;
}

static int formatted(char *to, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(to, 40, format, ap);
    va_end(ap);
    return n;
}

int main(void) {
    printf("%ld %ld %ld\n", sum(0), sum(3, 1, 2, 3), sum(12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12));
    int seven = 7;
    printf("%g\n", mixed("idlp", 1, 2.5, 3000000000ll, &seven));
    printf("%g\n", mixed("ddddddddddii", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11, 12));
    printf("%g\n", mixed("iiiiiiiiddl", 1, 2, 3, 4, 5, 6, 7, 8, 0.5, 0.25, -100ll));
    char text[40];
    int n = formatted(text, "%d-%s-%c-%5.2f", 42, "x", 'y', 3.14159);
    printf("%d %s\n", n, text);
    return 0;
}

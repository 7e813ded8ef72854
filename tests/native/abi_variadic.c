// Variadic functions: every class of argument, more than the registers hold, copies of the list, lists passed on.
#include <stdarg.h>
#include <stdio.h>

struct small { int a; float b; };
struct words { long a, b; };
struct large { long v[4]; char c; };
struct mixed { double d; int i; };

static long ints(int n, ...) {
    va_list list;
    va_start(list, n);
    long sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 3 + va_arg(list, int);
    va_end(list);
    return sum;
}

static double doubles(int n, ...) {
    va_list list;
    va_start(list, n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum = sum / 2 + va_arg(list, double);
    va_end(list);
    return sum;
}

static long everything(const char *kinds, ...) {
    va_list list, again;
    va_start(list, kinds);
    va_copy(again, list);
    long sum = 0;
    for (const char *k = kinds; *k; k++) {
        switch (*k) {
            case 'i': sum += va_arg(list, int); break;
            case 'l': sum += va_arg(list, long); break;
            case 'd': sum += (long)(va_arg(list, double) * 10); break;
            case 's': { struct small s = va_arg(list, struct small); sum += s.a * 100 + (long)s.b; break; }
            case 'w': { struct words w = va_arg(list, struct words); sum += w.a * 7 + w.b; break; }
            case 'b': { struct large b = va_arg(list, struct large); sum += b.v[0] + b.v[3] * 2 + b.c; break; }
            case 'm': { struct mixed m = va_arg(list, struct mixed); sum += (long)m.d + m.i; break; }
            case 'p': sum += *va_arg(list, int *); break;
            
        }
        sum *= 2;
    }
    if (kinds[0] == 'i') sum += va_arg(again, int);
    va_end(list);
    va_end(again);
    return sum;
}

static int forward(char *buffer, size_t size, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(buffer, size, format, list);
    va_end(list);
    return n;
}

static long take(va_list *list) { return va_arg(*list, long); }

static long shared(int n, ...) {
    va_list list;
    va_start(list, n);
    long sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 10 + take(&list);
    va_end(list);
    return sum;
}

int main(void) {
    int x = 5;
    struct small s = {3, 4.5f};
    struct words w = {10, 20};
    struct large b = {{1, 2, 3, 4}, 'c'};
    struct mixed m = {2.5, 9};
    printf("%ld\n", ints(12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    printf("%g\n", doubles(11, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0));
    printf("%ld\n", everything("ildswbmp", 1, 2L, 3.5, s, w, b, m, &x));
    printf("%ld\n", everything("bwbwis", b, w, b, w, 7, s));
    printf("%ld\n", everything("ddddddddddwwww", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.5, w, w, w, w));
    char buffer[64];
    int n = forward(buffer, sizeof buffer, "%d-%s-%.2f-%c-%lx", 42, "text", 1.25, 'z', 255L);
    printf("%d %s\n", n, buffer);
    printf("%ld\n", shared(8, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L));
    return 0;
}

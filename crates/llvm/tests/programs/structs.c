// Aggregates by value, in variadic functions, wide bit-fields, wide integers, vectors, complex numbers.
#include <stdarg.h>

struct small { int a; float b; };
struct pair { long a, b; };
struct large { long v[5]; char tail[3]; };
struct floats { float x, y, z; };
struct bits { unsigned a : 31, b : 31, c : 31; int d : 3; };
struct packed { char c; unsigned a : 20, b : 20; short s; } __attribute__((packed));
typedef int vector __attribute__((vector_size(16)));
typedef unsigned char octets __attribute__((vector_size(8)));
typedef float wide_vector __attribute__((vector_size(32)));

struct small f1(struct small s) { s.a++; return s; }
struct pair f2(struct pair s) { s.a += s.b; return s; }
struct large f3(struct large s, int n) { s.v[n]++; return s; }
struct floats f4(struct floats s) { s.z = s.x; return s; }
struct packed f5(struct packed p) { p.b = p.a; return p; }

long variadic(int n, ...) {
    va_list list, copy;
    va_start(list, n);
    va_copy(copy, list);
    long r = va_arg(list, int) + (long)va_arg(list, double) + va_arg(list, struct large).v[1];
    r += va_arg(list, struct small).a + va_arg(list, struct pair).b + *va_arg(list, char *) + (long)va_arg(list, long double);
    va_end(list);
    va_end(copy);
    return r;
}

int bit_fields(struct bits *b) { b->a = b->b; b->c++; b->d--; return b->d; }
__int128 wide(__int128 a, unsigned __int128 b, int n) {
    return a * 3 + (a / 7) - (__int128)(b % 10) + (a << n) + (__int128)(b >> n) + (a >> 5) + (a < 9 ? a : n) - (long)b;
}
vector vectors(vector a, vector b, int i) { vector c = a * b + (a > b) - (a & b); c[i] = a[i & 3]; return c; }
octets bytes(octets a, int n) { return a << n ^ (octets)(~(unsigned long long)a); }
wide_vector more(wide_vector a, wide_vector b) { return a / b + __builtin_shufflevector(a, b, 0, 9, 2, 11, 4, 13, 6, 15); }
double _Complex complex_numbers(double _Complex z, float _Complex w) { return z * z + w - 1.0i; }
long double extended(long double x, double y) { return x * y + (long double)3; }

long calls(struct large big) {
    struct small s = {1, 2};
    struct pair p = {3, 4};
    struct large (*pointer)(struct large, int) = f3;
    char c = 'c';
    return variadic(7, 1, 2.5, big, s, p, &c, 1.0L) + pointer(big, 2).v[2] + f1(s).a + f2(p).a + (long)f4((struct floats){1, 2, 3}).z;
}

// Vectors of the language extension: arithmetic, comparison, elements at unknown indices, shuffles, conversions.
#include <stdio.h>
#include <string.h>

typedef int v4i __attribute__((vector_size(16)));
typedef float v4f __attribute__((vector_size(16)));
typedef unsigned char v16b __attribute__((vector_size(16)));
typedef long v2l __attribute__((vector_size(16)));
typedef int v8i __attribute__((vector_size(32)));

static v4i add(v4i a, v4i b) { return a + b * 3; }
static v4f fma4(v4f a, v4f b) { return a * b + a / b; }

int main(int argc, char **argv) {
    v4i a = {1, -2, 3, -4}, b = {10, 20, 30, 40};
    v4i c = add(a, b), d = a < b, e = (a & b) ^ ~c, f = b >> 1, g = a << 2;
    for (int i = 0; i < 4; i++) printf("%d %d %d %d %d\n", c[i], d[i], e[i], f[i], g[i]);
    v4f x = {1, 2, 3, 4}, y = {0.5f, 0.25f, 2, 4}, z = fma4(x, y);
    v4i w = x > y;
    for (int i = 0; i < 4; i++) printf("%g %d\n", z[i], w[i]);
    c[argc] = 99;
    a[(argc + 2) % 4] += 7;
    printf("%d %d %d\n", c[1], c[argc * 2], a[3]);
    v16b bytes = (v16b)c;
    unsigned sum = 0;
    for (int i = 0; i < 16; i++) sum = sum * 31 + bytes[i];
    v2l longs = (v2l)bytes;
    printf("%u %lx %lx\n", sum, longs[0], longs[1]);
    v4i shuffled = __builtin_shufflevector(a, b, 0, 5, 2, 7);
    v4f converted = __builtin_convertvector(a, v4f);
    v8i wide = __builtin_shufflevector(a, b, 7, 6, 5, 4, 3, 2, 1, 0);
    for (int i = 0; i < 4; i++) printf("%d %g %d %d\n", shuffled[i], converted[i], wide[i], wide[i + 4]);
    v4i array[3] = {a, b, c}, copy[3];
    memcpy(copy, array, sizeof array);
    copy[argc] += array[argc + 1];
    printf("%d %d %zu\n", copy[1][0], copy[2][3], sizeof copy);
    int total = 0;
    int data[37];
    for (int i = 0; i < 37; i++) data[i] = i * i % 17;
    for (int i = 0; i < 37; i++) total += data[i] > 8 ? data[i] : -data[i];
    printf("%d\n", total);
    return 0;
}

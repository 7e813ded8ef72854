// Structs of all sizes by value, as arguments and results: the calling convention splits and copies them.
#include <stdio.h>

#define S(n)                                                                                                           \
    struct s##n {                                                                                                      \
        unsigned char b[n];                                                                                            \
    };                                                                                                                 \
    static struct s##n make##n(int seed) {                                                                             \
        struct s##n s;                                                                                                 \
        for (int i = 0; i < n; i++)                                                                                    \
            s.b[i] = (unsigned char)(seed * 7 + i * 3);                                                                \
        return s;                                                                                                      \
    }                                                                                                                  \
    static unsigned sum##n(int before, struct s##n s, int after) {                                                     \
        unsigned total = (unsigned)(before * 1000 + after);                                                            \
        for (int i = 0; i < n; i++)                                                                                    \
            total = total * 31 + s.b[i];                                                                               \
        s.b[0] = 0;                                                                                                    \
        return total;                                                                                                  \
    }

S(1) S(2) S(3) S(4) S(5) S(7) S(8) S(9) S(12) S(15) S(16) S(17) S(24) S(33) S(64)

struct mixed {
    int i;
    double d;
};
struct floats {
    float a, b, c;
};

static struct mixed twice(struct mixed m) {
    m.i *= 2;
    m.d *= 2;
    return m;
}

static struct floats turn(struct floats f) {
    return (struct floats){f.c, f.a, f.b};
}

int main(void) {
#define T(n) printf("%d %u\n", n, sum##n(n, make##n(n), -n));
    T(1) T(2) T(3) T(4) T(5) T(7) T(8) T(9) T(12) T(15) T(16) T(17) T(24) T(33) T(64)
    struct mixed m = twice((struct mixed){21, 1.25});
    struct floats f = turn((struct floats){1, 2, 3});
    printf("%d %g %g %g %g\n", m.i, m.d, (double)f.a, (double)f.b, (double)f.c);
    return 0;
}

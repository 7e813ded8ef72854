// Signed and unsigned, over storage boundaries, in packed and nested structs, and zero-width ones.
#include <stdio.h>
#include <string.h>

struct a {
    unsigned x : 3;
    int y : 5;
    unsigned z : 13;
    int w : 30;
};

struct b {
    long long p : 37;
    unsigned long long q : 50;
    _Bool r : 1;
    unsigned : 0;
    unsigned char s : 4, t : 4;
};

struct __attribute__((packed)) c {
    unsigned a : 7;
    unsigned b : 20;
    unsigned c : 5;
    unsigned char d;
};

int main(void) {
    struct a a = {5, -3, 4321, -123456};
    printf("%u %d %u %d\n", a.x, a.y, a.z, a.w);
    a.x += 6;
    a.y -= 20;
    a.z <<= 2;
    a.w *= -3;
    printf("%u %d %u %d %zu\n", a.x, a.y, a.z, a.w, sizeof a);
    struct b b = {-5000000000ll, 700000000000000ull, 1, 9, 12};
    b.p *= 3;
    b.q += b.p;
    b.s++;
    b.t = b.s + b.r;
    printf("%lld %llu %d %d %d\n", (long long)b.p, (unsigned long long)b.q, b.r, b.s, b.t);
    struct c c;
    memset(&c, 0, sizeof c);
    c.a = 100;
    c.b = 987654;
    c.c = 21;
    c.d = 200;
    printf("%u %u %u %u %zu\n", c.a, c.b, c.c, c.d, sizeof c);
    unsigned char bytes[sizeof c];
    memcpy(bytes, &c, sizeof c);
    for (unsigned i = 0; i < sizeof c; i++)
        printf("%02x ", bytes[i]);
    printf("\n");
    for (int i = 0; i < 10; i++)
        a.x = (unsigned)i, printf("%u", a.x);
    printf("\n");
    return 0;
}

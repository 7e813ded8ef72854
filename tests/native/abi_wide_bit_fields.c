// Bit-fields whose storage is wider than a register, signed and unsigned, in arrays and unions.
#include <stdio.h>
#include <string.h>

struct wide { unsigned a : 31; unsigned b : 31; unsigned c : 31; int d : 3; };
struct longs { unsigned long a : 60; unsigned long b : 60; long c : 7; long d : 33; };
struct small { signed a : 3; unsigned b : 5; signed c : 1; _Bool e : 1; unsigned : 0; unsigned f : 9; };
struct packed { char c; unsigned a : 20; unsigned b : 20; unsigned d : 20; short s; } __attribute__((packed));
union view { struct wide w; unsigned char bytes[sizeof(struct wide)]; };

static struct wide global = {1, 2, 3, -4};
static struct longs table[3] = {{1, 2, 3, 4}, {5, 6, -7, -8}, {0}};

static void bytes(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]);
    printf("\n");
}

int main(void) {
    struct wide w;
    memset(&w, 0, sizeof w);
    w.a = 0x7fffffff; w.b = 0x2aaaaaaa; w.c = 0x15555555; w.d = -3;
    printf("%u %u %u %d\n", w.a, w.b, w.c, w.d);
    w.b++; w.c -= 5; w.d = 3; w.a ^= w.b;
    printf("%u %u %u %d\n", w.a, w.b, w.c, w.d);
    union view v;
    memset(&v, 0, sizeof v);
    v.w = w;
    bytes(v.bytes, sizeof v.bytes);
    global.c = global.a + global.b;
    printf("%u %d\n", global.c, global.d);
    for (int i = 0; i < 3; i++) {
        table[i].a = (1UL << 59) + i; table[i].b += 3; table[i].c--; table[i].d *= 2;
        printf("%lx %lx %d %ld\n", (unsigned long)table[i].a, (unsigned long)table[i].b, (int)table[i].c, (long)table[i].d);
    }
    struct small s = {-4, 31, -1, 1, 300};
    s.a++; s.b += 2; s.f += 300;
    printf("%d %u %d %d %u %zu\n", s.a, s.b, s.c, s.e, s.f, sizeof s);
    struct packed p;
    memset(&p, 0, sizeof p);
    p.c = 1; p.a = 0xfffff; p.b = 0x12345; p.d = 0xabcde; p.s = -2;
    bytes(&p, sizeof p);
    p.b = p.d; p.a--;
    printf("%x %x %x %d %zu\n", p.a, p.b, p.d, p.s, sizeof p);
    return 0;
}

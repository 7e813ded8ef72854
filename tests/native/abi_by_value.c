// Structs of every ABI class by value: in registers, in memory, mixed, returned, nested, through pointers to functions.
#include <stdio.h>
#include <string.h>

struct one { char c; };
struct pair { int a; float b; };
struct two { long a, b; };
struct mixed { double d; long l; };
struct floats { float x, y, z; };
struct big { long v[5]; char tail[3]; };
struct odd { char c[11]; };
struct nested { struct pair p; struct { short s; char t; } q; };
struct packed { char c; int i; short s; } __attribute__((packed));
union number { long l; double d; char c[8]; };

static struct one f_one(struct one s) { s.c++; return s; }
static struct pair f_pair(struct pair s) { s.a *= 2; s.b += 0.5f; return s; }
static struct two f_two(struct two s) { long t = s.a; s.a = s.b; s.b = t; return s; }
static struct mixed f_mixed(struct mixed s) { s.d *= 3; s.l -= 7; return s; }
static struct floats f_floats(struct floats s) { s.x += s.y; s.y += s.z; s.z = -s.z; return s; }
static struct big f_big(struct big s, int n) { for (int i = 0; i < 5; i++) s.v[i] += n; s.tail[1] = 'X'; return s; }
static struct odd f_odd(struct odd s) { for (int i = 0; i < 11; i++) s.c[i] ^= 1; return s; }
static struct nested f_nested(struct nested s) { s.p.a += s.q.s; s.q.t++; return s; }
static struct packed f_packed(struct packed s) { s.i += s.c; s.s -= 1; return s; }
static union number f_number(union number u) { u.l ^= 1; return u; }

static long many(int a, struct two b, struct big c, double d, struct floats e, int f, int g, int h, struct two i, struct pair j) {
    b.a += 1;
    c.v[0] += 1;
    return a + b.a * 2 + c.v[0] * 3 + (long)d * 5 + (long)e.x * 7 + f + g + h + i.b * 11 + j.a * 13 + c.tail[0];
}

static void modify(struct big b) { memset(&b, 0, sizeof b); }

int main(void) {
    struct one o = f_one((struct one){'a'});
    struct pair p = f_pair((struct pair){21, 1.25f});
    struct two t = f_two((struct two){1, 2});
    struct mixed m = f_mixed((struct mixed){1.5, 100});
    struct floats fl = f_floats((struct floats){1, 2, 3});
    struct big b = f_big((struct big){{1, 2, 3, 4, 5}, "ab"}, 10);
    struct odd od = f_odd((struct odd){"hello worl"});
    struct nested n = f_nested((struct nested){{1, 2}, {300, 'q'}});
    struct packed pk = f_packed((struct packed){5, 1000, 9});
    union number u = f_number((union number){.d = 2.5});
    printf("%c %d %g %ld %ld %g %ld\n", o.c, p.a, p.b, t.a, t.b, m.d, m.l);
    printf("%g %g %g %ld %ld %s\n", fl.x, fl.y, fl.z, b.v[0], b.v[4], b.tail);
    for (int i = 0; i < 11; i++) printf("%d ", od.c[i]);
    printf("\n%d %g %d %c %d %d %d %lx\n", n.p.a, n.p.b, n.q.s, n.q.t, pk.c, pk.i, pk.s, u.l);
    printf("%ld\n", many(1, t, b, 2.5, fl, 3, 4, 5, t, p));
    printf("%ld %ld\n", t.a, b.v[0]);
    modify(b);
    printf("%ld %s\n", b.v[2], b.tail);
    struct big (*pointer)(struct big, int) = f_big;
    printf("%ld %ld\n", pointer(b, -1).v[1], b.v[1]);
    struct big copies[2] = {b, f_big(b, 7)};
    copies[0] = copies[1];
    printf("%ld\n", copies[0].v[3]);
    return 0;
}

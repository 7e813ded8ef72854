// Structs in unions in structs in arrays, addressed through several layers.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct header {
    uint8_t kind;
    uint32_t length;
};

struct packet {
    struct header header;
    union {
        struct {
            uint16_t port[2];
            uint64_t cookie;
        } hello;
        struct {
            int32_t samples[3];
            struct {
                int8_t x, y, z;
            } where;
        } data;
    } body;
    struct packet *reply;
};

struct __attribute__((packed)) tight {
    char a;
    int b;
    short c;
    double d;
};

struct __attribute__((aligned(32))) wide {
    char c;
};

int main(void) {
    struct packet p[2] = {{{1, 20}, {.hello = {{80, 443}, 0x1122334455667788ull}}, NULL},
                          {{2, 30}, {.data = {{-1, 0, 1}, {-5, 6, 7}}}, NULL}};
    p[0].reply = &p[1];
    p[1].reply = &p[0];
    printf("%d %u %d %llx\n", p[0].header.kind, p[1].reply->header.length, p[0].body.hello.port[1],
           (unsigned long long)p[1].reply->body.hello.cookie);
    p[0].reply->body.data.samples[1] = 99;
    p[0].reply->body.data.where.y *= -1;
    printf("%d %d %d\n", p[1].body.data.samples[1], p[1].body.data.where.y, p[1].body.data.where.z);
    printf("%zu %zu %zu %zu\n", sizeof(struct packet), offsetof(struct packet, body), sizeof(struct tight),
           offsetof(struct tight, d));
    struct tight t = {'a', 123456789, -2, 1.25};
    t.b++;
    printf("%c %d %d %g\n", t.a, t.b, t.c, t.d);
    static struct wide w[2];
    printf("%zu %d %d\n", sizeof w, (int)((uintptr_t)&w[1] % 32), (int)((char *)&w[1] - (char *)w));
    return 0;
}

// One memory, several views.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

union view {
    uint64_t u;
    double d;
    float f[2];
    uint8_t b[8];
    struct {
        uint16_t lo, mid;
        uint32_t hi;
    } s;
};

struct tagged {
    enum { INT, REAL, TEXT } kind;
    union {
        int i;
        double r;
        const char *t;
    };
};

static void show(struct tagged x) {
    switch (x.kind) {
    case INT:
        printf("int %d\n", x.i);
        break;
    case REAL:
        printf("real %g\n", x.r);
        break;
    case TEXT:
        printf("text %s\n", x.t);
        break;
    }
}

int main(void) {
    union view v = {.d = -3.140625};
    printf("%llx %x %x %x %x\n", (unsigned long long)v.u, v.b[0], v.b[7], v.s.mid, v.s.hi);
    v.f[0] = 1.0f;
    v.f[1] = -2.0f;
    printf("%llx\n", (unsigned long long)v.u);
    v.b[3] = 0;
    printf("%g %g\n", (double)v.f[0], (double)v.f[1]);
    show((struct tagged){INT, {.i = 4}});
    show((struct tagged){REAL, {.r = 2.5}});
    show((struct tagged){TEXT, {.t = "hello"}});
    float f = 1.5f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    printf("%x\n", bits);
    return 0;
}

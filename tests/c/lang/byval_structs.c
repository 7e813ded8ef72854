// RUN: check
// EXPECT: verified complete=1 blocked=0
// Large structs are passed by value: the callee's changes are its own.
#include <assert.h>

struct big {
    long a[10];
};

struct small {
    int a, b;
};

static long change(struct big b, struct small s) {
    b.a[3] = 100;
    s.a = 50;
    return b.a[3] + s.a + b.a[9];
}

static struct big make(long first) {
    struct big b;
    for (int i = 0; i < 10; i++)
        b.a[i] = first + i;
    return b;
}

int main(void) {
    struct big b = make(1);
    struct small s = {5, 6};
    assert(change(b, s) == 160);
    assert(b.a[3] == 4 && s.a == 5);
    assert(make(7).a[9] == 16);
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>

struct bits {
    unsigned a : 3;
    int b : 5;
    unsigned c : 17;
    unsigned : 0;
    long long d : 40;
    _Bool e : 1;
};

int main(void) {
    struct bits s = {7, -16, 100000, -(1LL << 39), 1};
    assert(s.a == 7 && s.b == -16 && s.c == 100000 && s.d == -(1LL << 39) && s.e);
    s.a++;
    s.b--;
    s.c ^= 0x1ffff;
    s.d >>= 3;
    assert(s.a == 0 && s.b == 15 && s.c == (100000 ^ 0x1ffff) && s.d == -(1LL << 36) && s.e == 1);
}

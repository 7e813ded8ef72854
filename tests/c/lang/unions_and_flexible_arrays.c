// RUN: check --leaks
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

union number {
    double d;
    uint64_t bits;
    uint8_t bytes[8];
};

struct text {
    unsigned length;
    char data[];
};

int main(void) {
    union number n = {.d = 1.0};
    assert(n.bits == 0x3ff0000000000000ull && n.bytes[7] == 0x3f);
    struct text *t = malloc(sizeof *t + 5);
    t->length = 5;
    for (unsigned i = 0; i < t->length; i++)
        t->data[i] = (char)('a' + i);
    assert(t->data[4] == 'e');
    free(t);
}

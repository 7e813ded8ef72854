// Several generators, long loops.
#include <stdint.h>
#include <stdio.h>

static uint32_t xorshift(uint32_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static uint64_t pcg(uint64_t *s) {
    uint64_t x = *s;
    unsigned count = (unsigned)(x >> 59);
    *s = x * 6364136223846793005ull + 1442695040888963407ull;
    x ^= x >> 18;
    uint32_t y = (uint32_t)(x >> 27);
    return y >> count | y << (-count & 31);
}

int main(void) {
    uint32_t a = 1;
    uint64_t b = 42;
    int histogram[8] = {0};
    for (int i = 0; i < 5000; i++)
        histogram[xorshift(&a) % 8]++;
    for (int i = 0; i < 8; i++)
        printf("%d ", histogram[i]);
    printf("\n");
    for (int i = 0; i < 6; i++)
        printf("%llx ", (unsigned long long)pcg(&b));
    printf("\n");
    return 0;
}

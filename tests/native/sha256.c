// SHA-256 of a short text: 32-bit arithmetic, tables, rotations.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t k[64];

static uint32_t ror(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* The constants are the fractional parts of cube and square roots of primes, found by integer search. */
static uint32_t root_fraction(uint64_t p, int power) {
    unsigned __int128 goal = (unsigned __int128)p << (power == 2 ? 64 : 96);
    uint64_t lo = 0, hi = 1ull << 37;
    while (lo + 1 < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        unsigned __int128 m = mid, v = power == 2 ? m * m : m * m * m;
        if (v <= goal)
            lo = mid;
        else
            hi = mid;
    }
    return (uint32_t)lo;
}

static void block(uint32_t *h, const uint8_t *p) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) + (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
    }
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
        uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

int main(void) {
    uint32_t h[8];
    int n = 0;
    for (uint64_t p = 2; n < 64; p++) {
        int prime = 1;
        for (uint64_t d = 2; d * d <= p; d++)
            prime &= p % d != 0;
        if (!prime)
            continue;
        k[n] = root_fraction(p, 3);
        if (n < 8)
            h[n] = root_fraction(p, 2);
        n++;
    }
    uint8_t message[64] = "abc";
    message[3] = 0x80;
    message[63] = 24;
    block(h, message);
    for (int i = 0; i < 8; i++)
        printf("%08x", h[i]);
    printf("\n");
    return 0;
}

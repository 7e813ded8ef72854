// CRC-32, Adler-32 and a small hash, with known results.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t crc32(const void *data, size_t n) {
    const uint8_t *p = data;
    uint32_t crc = 0xffffffff;
    while (n--) {
        crc ^= *p++;
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static uint32_t adler32(const void *data, size_t n) {
    const uint8_t *p = data;
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

int main(void) {
    const char *texts[] = {"", "a", "123456789", "The quick brown fox jumps over the lazy dog"};
    for (int i = 0; i < 4; i++)
        printf("%08x %08x\n", crc32(texts[i], strlen(texts[i])), adler32(texts[i], strlen(texts[i])));
    uint64_t x = 0;
    for (int i = 0; i < 5; i++) {
        x = mix(x + 0x9e3779b97f4a7c15ull);
        printf("%016llx\n", (unsigned long long)x);
    }
    return 0;
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <stdint.h>

int main(void) {
    volatile uint64_t a = 0xfedcba9876543210ull, b = 0x123456789abcdefull;
    unsigned __int128 p = (unsigned __int128)a * b;
    assert((uint64_t)(p >> 64) == 0x121fa00ad77d742ull && (uint64_t)p == 0x2236d88fe5618cf0ull);
    assert((uint64_t)(p / b) == a);
}

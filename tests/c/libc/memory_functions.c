// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <string.h>

int main(void) {
    char a[16] = "abcdefgh", b[16];
    memcpy(b, a, sizeof a);
    assert(memcmp(a, b, sizeof a) == 0);
    memmove(a + 2, a, 6);
    assert(memcmp(a, "ababcdef", 8) == 0);
    memmove(b, b + 1, 7);
    assert(memcmp(b, "bcdefghh", 8) == 0);
    memset(a, 'x', 3);
    assert(a[0] == 'x' && a[2] == 'x' && a[3] == 'b');
    assert(memchr(a, 'b', 8) == a + 3 && memchr(a, '?', 8) == NULL);
    assert(memcmp("a", "b", 1) < 0 && memcmp("\xff", "\x01", 1) > 0);
    memcpy(a, b, 0);
}

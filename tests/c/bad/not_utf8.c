// RUN: check
// EXPECT: verified complete=1 blocked=0
// Text that is not UTF-8 in comments and strings: éÿ
#include <assert.h>

int main(void) {
    const char *s = "é";
    assert((unsigned char)s[0] == 0xe9);
}

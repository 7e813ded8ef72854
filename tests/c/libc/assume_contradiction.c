// RUN: check
// EXPECT: verified complete=0 blocked=1
#include <assert.h>

void __VERIFIER_assume(int);

int main(void) {
    volatile int x = 1;
    __VERIFIER_assume(x == 2);
    assert(0);
}

// RUN: check --nondet 0..3
// EXPECT: verified complete=4 blocked=0
// Every value of the range is explored.
#include <assert.h>

int __VERIFIER_nondet_int(void);

int main(void) {
    int n = __VERIFIER_nondet_int();
    assert(n >= 0 && n <= 3);
}

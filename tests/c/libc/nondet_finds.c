// RUN: check --nondet -2..2
// EXPECT: violation assertion
int __VERIFIER_nondet_int(void);
#include <assert.h>

int main(void) {
    int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();
    assert(a * b != -4); // HERE
}

// RUN: check --nondet 0..1
// EXPECT: verified complete=4 blocked=0
#include <stdbool.h>

bool __VERIFIER_nondet_bool(void);

int main(void) {
    bool a = __VERIFIER_nondet_bool(), b = __VERIFIER_nondet_bool();
    return a + b > 2;
}

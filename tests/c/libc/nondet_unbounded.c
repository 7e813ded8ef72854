// RUN: check
// EXPECT: error __VERIFIER_nondet_int
// Without a range there is nothing sensible to explore.
int __VERIFIER_nondet_int(void);

int main(void) {
    return __VERIFIER_nondet_int() == 17; // HERE
}

// RUN: check
// EXPECT: violation assertion
void __VERIFIER_assert(int);

int main(void) {
    volatile int x = 1;
    __VERIFIER_assert(x == 1);
    __VERIFIER_assert(x == 2); // HERE
}

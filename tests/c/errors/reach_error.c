// RUN: check
// EXPECT: violation assertion|abort
// Declared only, as in the programs of the competition on software verification.
extern void reach_error(void);

int main(void) {
    volatile int x = 1;
    if (x)
        reach_error(); // HERE
}

// RUN: check
// EXPECT: violation arithmetic
// INT_MIN / -1 does not fit.
#include <limits.h>

int main(void) {
    volatile int a = INT_MIN, b = -1;
    return a / b == 0; // HERE
}

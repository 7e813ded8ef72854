// RUN: check
// EXPECT: violation assertion
// EXPECT: message x == 2
// The message shows the condition.
#include <assert.h>

int main(void) {
    volatile int x = 1;
    assert(x == 2); // HERE
}

// RUN: check
// EXPECT: incomplete
// EXPECT: not-covered bound
// Eats memory until something stops it.
#include <stdlib.h>

int main(void) {
    for (;;)
        malloc(1 << 20);
}

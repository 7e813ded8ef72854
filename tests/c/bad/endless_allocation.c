// RUN: check
// EXPECT: error memory
// Eats memory until something stops it.
#include <stdlib.h>

int main(void) {
    for (;;)
        malloc(1 << 20);
}

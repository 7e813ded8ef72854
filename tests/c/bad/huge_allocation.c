// RUN: check
// EXPECT: error 1152921504606846976
// 2^60 bytes cannot be had.
#include <stdlib.h>

int main(void) {
    char *p = malloc(1ul << 60); // HERE
    if (p)
        p[0] = 1;
    free(p);
}

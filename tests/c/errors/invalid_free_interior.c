// RUN: check
// EXPECT: violation invalid-free
// A pointer into the middle of a block.
#include <stdlib.h>

int main(void) {
    char *p = malloc(8);
    p++;
    free(p); // HERE
}

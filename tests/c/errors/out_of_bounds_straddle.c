// RUN: check
// EXPECT: violation out-of-bounds
// The access starts inside the block and ends outside.
#include <stdlib.h>

int main(void) {
    char *p = malloc(6);
    *(int *)(p + 4) = 1; // HERE
    free(p);
}

// RUN: check
// EXPECT: violation out-of-bounds
#include <stdlib.h>

int main(void) {
    char *p = malloc(4);
    volatile int i = -1;
    p[i] = 0; // HERE
    free(p);
}

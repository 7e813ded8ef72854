// RUN: check
// EXPECT: violation uninitialised-read
#include <stdlib.h>

int main(void) {
    int *p = malloc(2 * sizeof *p);
    p[0] = 1;
    int sum = p[0] + p[1]; // HERE
    free(p);
    return sum;
}

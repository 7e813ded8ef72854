// RUN: check
// EXPECT: violation uninitialised-read
// Half of the bytes were written.
#include <stdlib.h>
#include <string.h>

int main(void) {
    int *p = malloc(sizeof *p);
    memset(p, 0, 2);
    int seen = *p; // HERE
    free(p);
    return seen;
}

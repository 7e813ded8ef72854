// RUN: check
// EXPECT: violation use-after-free
// One thread only.
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p);
    *p = 1;
    free(p);
    return *p; // HERE
}

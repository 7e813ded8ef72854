// RUN: check
// EXPECT: violation use-after-free
// The old block is gone after realloc, even if it grew in place on some machine.
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p);
    *p = 1;
    int *q = realloc(p, 100 * sizeof *q);
    *q = 2;
    int old = *p; // HERE
    free(q);
    return old;
}

// RUN: check --malloc-may-fail --leaks
// EXPECT: verified complete=3 blocked=0
// Neither, the second, or none of the allocations fails... the first failing ends it.
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p);
    if (!p)
        return 1;
    int *q = malloc(sizeof *q);
    if (q)
        *q = 1;
    free(q);
    free(p);
    return 0;
}

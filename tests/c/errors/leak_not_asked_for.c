// RUN: check
// EXPECT: verified complete=1 blocked=0
// Leaks are reported on demand only.
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p);
    *p = 1;
    return 0;
}

// RUN: check --leaks
// EXPECT: verified complete=1 blocked=0
// calloc and static storage are initialised.
#include <assert.h>
#include <stdlib.h>

static int zeros[4];

int main(void) {
    int *p = calloc(4, sizeof *p);
    for (int i = 0; i < 4; i++)
        assert(p[i] == 0 && zeros[i] == 0);
    free(p);
}

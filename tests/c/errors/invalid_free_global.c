// RUN: check
// EXPECT: violation invalid-free
#include <stdlib.h>

static int global[4];

int main(void) {
    void *volatile p = global;
    free(p); // HERE
}

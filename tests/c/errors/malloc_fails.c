// RUN: check --malloc-may-fail
// EXPECT: violation invalid-pointer
// The result is not checked.
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p);
    *p = 1; // HERE
    free(p);
}

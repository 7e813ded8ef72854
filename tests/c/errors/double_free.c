// RUN: check
// EXPECT: violation double-free
#include <stdlib.h>

int main(void) {
    void *p = malloc(8);
    free(p);
    free(p); // HERE
}

// RUN: check --leaks
// EXPECT: violation leak
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p); // HERE
    *p = 1;
    return 0;
}

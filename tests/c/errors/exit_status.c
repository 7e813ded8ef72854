// RUN: check --exit-code-errors
// EXPECT: violation abort
#include <stdlib.h>

int main(void) {
    exit(3); // HERE
}

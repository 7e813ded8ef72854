// RUN: check
// EXPECT: violation abort
#include <stdlib.h>

int main(void) {
    abort(); // HERE
}

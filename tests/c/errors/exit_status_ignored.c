// RUN: check
// EXPECT: verified complete=1 blocked=0
// A non-zero status is no error unless asked for.
#include <stdlib.h>

int main(void) {
    exit(3);
}

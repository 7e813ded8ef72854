// RUN: check
// EXPECT: violation invalid-free
#include <stdlib.h>

int main(void) {
    int local = 0;
    void *volatile p = &local;
    free(p); // HERE
}

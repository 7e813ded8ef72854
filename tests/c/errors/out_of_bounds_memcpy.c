// RUN: check
// EXPECT: violation out-of-bounds
#include <string.h>

int main(void) {
    char from[8] = "1234567", to[4];
    volatile unsigned long n = sizeof from;
    memcpy(to, from, n); // HERE
    return to[0] != '1';
}

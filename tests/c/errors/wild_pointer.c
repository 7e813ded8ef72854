// RUN: check
// EXPECT: violation invalid-pointer
#include <stdint.h>

int main(void) {
    volatile uintptr_t n = 0x1234567;
    *(int *)n = 1; // HERE
}

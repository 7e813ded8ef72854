// RUN: check
// EXPECT: violation invalid-pointer
#include <stdint.h>

int main(void) {
    volatile uintptr_t n = 42;
    void (*f)(void) = (void (*)(void))n;
    f(); // HERE
}

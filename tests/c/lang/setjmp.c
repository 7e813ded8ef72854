// RUN: check
// EXPECT: error setjmp
#include <setjmp.h>

static jmp_buf here;

int main(void) {
    if (setjmp(here)) // HERE
        return 0;
    longjmp(here, 1);
}

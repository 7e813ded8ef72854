// RUN: check
// EXPECT: violation uninitialised-read
#include <stdio.h>

int main(void) {
    int x;
    int *volatile p = &x;
    if (*p > 0) // HERE
        printf("positive\n");
}

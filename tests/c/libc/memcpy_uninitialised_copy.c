// RUN: check
// EXPECT: violation uninitialised-read
// Copying bytes that were never written is fine; using them is not.
#include <stdlib.h>
#include <string.h>

int main(void) {
    int *a = malloc(8), *b = malloc(8);
    a[0] = 1;
    memcpy(b, a, 8);
    int sum = b[0];
    sum += b[1]; // HERE
    free(a);
    free(b);
    return sum;
}

// RUN: check
// EXPECT: violation out-of-bounds
// A string without its final zero.
#include <string.h>

int main(void) {
    char text[3] = {'a', 'b', 'c'};
    return (int)strlen(text); // HERE
}

// RUN: check
// EXPECT: violation out-of-bounds
// No room for the final zero.
#include <string.h>

int main(void) {
    char to[4];
    strcpy(to, "four"); // HERE
    return to[0] != 'f';
}

// RUN: check
// EXPECT: violation invalid-pointer
#include <string.h>

int main(void) {
    char to[4];
    char *volatile from = 0;
    memcpy(to, from, 4); // HERE
    return to[0];
}

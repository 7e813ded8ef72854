// RUN: check
// EXPECT: verified complete=1 blocked=0
// Without --args there is the name of the program only.
#include <assert.h>

int main(int argc, char **argv) {
    assert(argc == 1 && argv[0] != 0 && argv[1] == 0);
}

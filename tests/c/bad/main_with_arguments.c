// RUN: check --args one two
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <string.h>

int main(int argc, char **argv) {
    assert(argc == 3 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0 && argv[3] == 0);
}

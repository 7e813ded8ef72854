// RUN: check
// EXPECT: error main
int helper(void) {
    return 1;
}

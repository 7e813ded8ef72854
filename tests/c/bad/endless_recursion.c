// RUN: check
// EXPECT: incomplete
// EXPECT: not-covered recursion
// The stack of a thread is limited.
static int down(int n) {
    return n == -1 ? 0 : 1 + down(n + 1);
}

int main(void) {
    return down(0);
}

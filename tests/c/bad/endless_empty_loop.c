// RUN: check
// EXPECT: incomplete
// EXPECT: not-covered bound
int main(void) {
    for (;;) {
    }
}

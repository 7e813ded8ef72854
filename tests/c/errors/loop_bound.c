// RUN: check --unroll 5
// EXPECT: verified
// EXPECT: not-covered loop
// A loop that exceeds its bound is said to be cut off, with its place.
int main(void) {
    volatile int n = 0;
    for (int i = 0; i < 10; i++)
        n++;
    return n != 10;
}

// RUN: check
// EXPECT: violation out-of-bounds
// Not into the next variable either.
static int a[2], b[2];

int main(void) {
    volatile int i = 2;
    a[i] = 1; // HERE
    return b[0];
}

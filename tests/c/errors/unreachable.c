// RUN: check
// EXPECT: violation abort
static int sign(int x) {
    if (x > 0)
        return 1;
    if (x < 0)
        return -1;
    __builtin_unreachable(); // HERE
}

int main(void) {
    volatile int x = 0;
    return sign(x);
}

// RUN: check
// EXPECT: violation arithmetic
int main(void) {
    volatile unsigned zero = 0;
    return 100 % zero; // HERE
}

// RUN: check --unroll 10
// EXPECT: verified complete=1 blocked=0
// As many iterations as allowed.
int main(void) {
    volatile int n = 0;
    for (int i = 0; i < 10; i++)
        n++;
    return n != 10;
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
int frobnicate(int);

int main(void) {
    volatile int never = 0;
    return never ? frobnicate(1) : 0;
}

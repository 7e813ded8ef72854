// RUN: check
// EXPECT: violation out-of-bounds
int main(void) {
    volatile int n = 3;
    int a[n];
    for (int i = 0; i < n + 1; i++)
        a[i] = i; // HERE
    return a[0];
}

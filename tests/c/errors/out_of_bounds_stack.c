// RUN: check
// EXPECT: violation out-of-bounds
int main(void) {
    int a[3] = {1, 2, 3};
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += a[i]; // HERE
    return sum;
}

// RUN: check
// EXPECT: violation invalid-pointer
int main(void) {
    int *volatile p = 0;
    return *p; // HERE
}

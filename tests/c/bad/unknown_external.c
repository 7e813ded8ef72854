// RUN: check
// EXPECT: error frobnicate
// The name, the place of the call, and what to do about it.
int frobnicate(int);

int main(void) {
    return frobnicate(1); // HERE
}

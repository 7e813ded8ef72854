// RUN: check
// EXPECT: violation invalid-pointer
// A string literal must not be written to.
int main(void) {
    char *p = (char *)"text";
    p[0] = 'n'; // HERE
}

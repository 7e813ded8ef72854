// RUN: check
// EXPECT: error expected
// clang's own message is passed through, with its place.
int main(void) {
    return 1 + ; // HERE
}

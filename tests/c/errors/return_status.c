// RUN: check --exit-code-errors
// EXPECT: violation abort
int main(void) {
    return 3;
}

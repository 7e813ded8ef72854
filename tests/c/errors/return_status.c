// RUN: check --nonzero-exit
// EXPECT: violation abort
int main(void) {
    return 3;
}

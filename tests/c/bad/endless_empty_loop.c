// RUN: check
// EXPECT: incomplete "bound"
int main(void) {
    for (;;) {
    }
}

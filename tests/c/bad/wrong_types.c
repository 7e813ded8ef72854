// RUN: check
// EXPECT: error undeclared
int main(void) {
    return undeclared_variable; // HERE
}

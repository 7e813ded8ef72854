// RUN: check
// EXPECT: violation use-after-free
// A pointer to a local variable of a function that has returned.
static int *escape(void) {
    int local = 1;
    int *volatile p = &local;
    return p;
}

int main(void) {
    int *p = escape();
    return *p; // HERE
}

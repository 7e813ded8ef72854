// State that outlives a call, and constants in functions.
#include <stdio.h>

static int counter(void) {
    static int n = 100;
    return n++;
}

static unsigned generator(void) {
    static unsigned state[3] = {1, 2, 3};
    unsigned next = state[0] ^ state[2] << 3;
    state[0] = state[1];
    state[1] = state[2];
    state[2] = next;
    return next;
}

static const char *digit(int n) {
    static const char *const names[] = {"zero", "one", "two"};
    return n < 3 ? names[n] : "many";
}

static int *cell(void) {
    static int value;
    return &value;
}

int main(void) {
    for (int i = 0; i < 3; i++)
        printf("%d ", counter());
    for (int i = 0; i < 8; i++)
        printf("%u ", generator());
    printf("%s %s\n", digit(2), digit(3));
    *cell() = 5;
    ++*cell();
    printf("%d\n", *cell());
    return 0;
}

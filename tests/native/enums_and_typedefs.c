// Enumerations with chosen and negative values, anonymous ones, as array sizes and in switches.
#include <stdio.h>

enum colour { RED = 3, GREEN, BLUE = -2, ALPHA, LAST = BLUE + 10 };
enum { SIZE = LAST - 1, MASK = 1 << 4 | 1 };
typedef enum colour colour;
typedef struct vector vector;
struct vector {
    int at[SIZE];
    colour tint;
};

static const char *name(colour c) {
    switch (c) {
    case RED: return "red";
    case GREEN: return "green";
    case BLUE: return "blue";
    case ALPHA: return "alpha";
    default: return "?";
    }
}

int main(void) {
    printf("%d %d %d %d %d %d %d\n", RED, GREEN, BLUE, ALPHA, LAST, SIZE, MASK);
    vector v = {{0}, GREEN};
    for (int i = 0; i < SIZE; i++)
        v.at[i] = i * MASK;
    for (int c = -3; c < 6; c++)
        printf("%s ", name((colour)c));
    printf("%d %s %zu\n", v.at[SIZE - 1], name(v.tint), sizeof v / sizeof(int));
    return 0;
}

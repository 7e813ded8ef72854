// A switch into a loop, and labels as values.
#include <stdio.h>

static void copy(char *to, const char *from, int n) {
    int rounds = (n + 3) / 4;
    switch (n % 4) {
    case 0:
        do {
            *to++ = *from++;
        case 3:
            *to++ = *from++;
        case 2:
            *to++ = *from++;
        case 1:
            *to++ = *from++;
        } while (--rounds > 0);
    }
}

static int run(const char *code, int x) {
    static const void *const ops[] = {&&inc, &&dbl, &&neg, &&end};
#define NEXT goto *ops[*code++ - '0']
    NEXT;
inc:
    x++;
    NEXT;
dbl:
    x *= 2;
    NEXT;
neg:
    x = -x;
    NEXT;
end:
    return x;
}

int main(void) {
    for (int n = 1; n < 12; n++) {
        char to[16] = {0};
        copy(to, "abcdefghijklmnop", n);
        printf("%s ", to);
    }
    printf("\n%d %d\n", run("001123", 5), run("3", 9));
    return 0;
}

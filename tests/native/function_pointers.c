// Tables, callbacks, pointers in structs, functions that return functions.
#include <stdio.h>

static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int mul(int a, int b) { return a * b; }

typedef int (*operation)(int, int);

static operation choose(char c) {
    return c == '+' ? add : c == '-' ? sub : c == '*' ? mul : NULL;
}

struct animal {
    const char *name;
    void (*speak)(const struct animal *, int);
};

static void bark(const struct animal *a, int times) {
    while (times-- > 0)
        printf("%s: woof\n", a->name);
}

static void meow(const struct animal *a, int times) {
    printf("%s: meow x%d\n", a->name, times);
}

static int fold(const int *a, int n, int start, operation f) {
    for (int i = 0; i < n; i++)
        start = f(start, a[i]);
    return start;
}

int main(void) {
    const char *program = "+*-+";
    int value = 5;
    for (const char *p = program; *p; p++)
        value = choose(*p)(value, (int)(p - program) + 2);
    printf("%d\n", value);
    struct animal zoo[] = {{"rex", bark}, {"tom", meow}};
    for (int i = 0; i < 2; i++)
        zoo[i].speak(&zoo[i], 2);
    int a[] = {1, 2, 3, 4, 5};
    printf("%d %d %d\n", fold(a, 5, 0, add), fold(a, 5, 1, mul), fold(a, 5, 0, sub));
    printf("%d %d\n", choose('+') == add, choose('?') == NULL);
    return 0;
}

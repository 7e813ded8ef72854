// atoi, strtol and own parsing.
#include <stdio.h>
#include <stdlib.h>

static int evaluate(const char **s);

static int factor(const char **s) {
    if (**s == '(') {
        ++*s;
        int v = evaluate(s);
        ++*s;
        return v;
    }
    if (**s == '-') {
        ++*s;
        return -factor(s);
    }
    int v = 0;
    while (**s >= '0' && **s <= '9')
        v = v * 10 + *(*s)++ - '0';
    return v;
}

static int term(const char **s) {
    int v = factor(s);
    while (**s == '*' || **s == '/') {
        char op = *(*s)++;
        int w = factor(s);
        v = op == '*' ? v * w : v / w;
    }
    return v;
}

static int evaluate(const char **s) {
    int v = term(s);
    while (**s == '+' || **s == '-') {
        char op = *(*s)++;
        int w = term(s);
        v = op == '+' ? v + w : v - w;
    }
    return v;
}

int main(void) {
    const char *texts[] = {"1+2*3", "(1+2)*3", "2*(3+4)*5-6/2", "-(-7)*-2", "100/7/2"};
    for (int i = 0; i < 5; i++) {
        const char *s = texts[i];
        printf("%d\n", evaluate(&s));
    }
    printf("%d %d %d\n", atoi("42"), atoi("  -17x"), atoi("none"));
    char *end;
    printf("%ld", strtol("0x1fz", &end, 16));
    printf(" %s", end);
    printf(" %ld %ld %lu\n", strtol("-077", NULL, 0), strtol("zz", NULL, 36), strtoul("4000000000", NULL, 10));
    printf("%d %ld\n", abs(-5), labs(-6000000000L));
    return 0;
}

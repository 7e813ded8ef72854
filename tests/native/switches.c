// Dense and sparse switches, fall-through, ranges, 64-bit and negative cases.
#include <stdio.h>

static const char *dense(int n) {
    switch (n) {
    case 0: return "zero";
    case 1: return "one";
    case 2: return "two";
    case 3: return "three";
    case 4: return "four";
    default: return "many";
    }
}

static int sparse(long long n) {
    int r = 0;
    switch (n) {
    case -1000000000000ll: r += 1;
    case -5: r += 2; break;
    case 0: r += 4;
    case 77: r += 8;
    case 9000000000ll: r += 16; break;
    default: r = -1;
    }
    return r;
}

static int state(const char *s) {
    int st = 0;
    for (; *s; s++) {
        switch (st) {
        case 0: st = *s == 'a' ? 1 : 0; break;
        case 1:
            switch (*s) {
            case 'a': break;
            case 'b': st = 2; break;
            default: st = 0;
            }
            break;
        case 2: st = *s == 'c' ? 3 : *s == 'a' ? 1 : 0; break;
        }
    }
    return st;
}

int main(void) {
    for (int i = -1; i < 7; i++)
        printf("%s ", dense(i));
    printf("\n%d %d %d %d %d %d\n", sparse(-1000000000000ll), sparse(-5), sparse(0), sparse(77), sparse(9000000000ll),
           sparse(1));
    printf("%d %d %d\n", state("xxabc"), state("aab"), state("abab"));
    for (unsigned char c = 250; c != 4; c++)
        switch (c) {
        case 255: printf("max "); break;
        case 0 ... 2: printf("low%d ", c); break;
        }
    printf("\n");
    return 0;
}

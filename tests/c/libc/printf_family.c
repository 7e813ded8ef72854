// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char s[64];
    assert(sprintf(s, "%d %u %x %c %s %%", -5, 7u, 255, 'c', "str") == 15);
    assert(strcmp(s, "-5 7 ff c str %") == 0);
    assert(snprintf(s, 4, "%s", "truncated") == 9 && strcmp(s, "tru") == 0);
    assert(snprintf(NULL, 0, "%5d|%-5d|%05d", 42, 42, 42) == 17);
    sprintf(s, "%5d|%-5d|%05d", 42, 42, 42);
    assert(strcmp(s, "   42|42   |00042") == 0);
    sprintf(s, "%ld %llu %hhd %zu %p", -1L, 18446744073709551615ull, (char)44, sizeof(int), (void *)0);
    assert(strcmp(s, "-1 18446744073709551615 44 4 (nil)") == 0);
    sprintf(s, "%.3f %e %g %.2s", 3.14159, 12345.678, 0.0001, "abc");
    assert(strcmp(s, "3.142 1.234568e+04 0.0001 ab") == 0);
    printf("printed %d\n", 1);
    fprintf(stderr, "to the error stream %s\n", "too");
    puts("a line");
    putchar('x');
    putchar('\n');
    fflush(stdout);
}

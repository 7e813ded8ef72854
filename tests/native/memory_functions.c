// malloc, calloc, realloc with contents kept, mem* functions, memory moved over itself.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    int *a = malloc(4 * sizeof *a);
    for (int i = 0; i < 4; i++)
        a[i] = i + 1;
    for (int n = 8; n <= 32; n *= 2) {
        a = realloc(a, (size_t)n * sizeof *a);
        for (int i = n / 2; i < n; i++)
            a[i] = a[i - n / 2] * 2;
    }
    long sum = 0;
    for (int i = 0; i < 32; i++)
        sum = sum * 3 + a[i];
    printf("%ld\n", sum);
    a = realloc(a, 2 * sizeof *a);
    printf("%d %d\n", a[0], a[1]);
    free(a);
    char *z = calloc(10, 3);
    int zeros = 0;
    for (int i = 0; i < 30; i++)
        zeros += z[i] == 0;
    printf("%d\n", zeros);
    memcpy(z, "abcdefghij", 11);
    memmove(z + 3, z, 11);
    printf("%s\n", z);
    memmove(z, z + 2, 12);
    printf("%s %d\n", z, memcmp(z, "cab", 3) < 0);
    memset(z, 'x', 5);
    printf("%s %td\n", z, (char *)memchr(z, 'g', 14) - z);
    free(z);
    free(NULL);
    return 0;
}

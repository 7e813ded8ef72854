// Pointer arithmetic, pointers to pointers, comparisons, differences.
#include <stddef.h>
#include <stdio.h>

static void swap(int **a, int **b) {
    int *t = *a;
    *a = *b;
    *b = t;
}

static const char *skip(const char *s, char c) {
    while (*s && *s == c)
        s++;
    return s;
}

int main(void) {
    int a[10];
    for (int *p = a; p < a + 10; p++)
        *p = (int)(p - a) * 2;
    int *first = a, *last = &a[9];
    printf("%td %td %d\n", last - first, first - last, first < last);
    swap(&first, &last);
    printf("%d %d %d\n", *first, *last, first > last);
    int *table[3] = {a, a + 3, a + 6};
    int **pp = table + 1;
    printf("%d %d %d\n", **pp, (*pp)[1], *pp[1]);
    printf("%s|%s|\n", skip("   text", ' '), skip("xxx", 'x'));
    char *bytes = (char *)a;
    printf("%d %d\n", *(int *)(bytes + 4 * sizeof(int)), bytes[8]);
    int (*row)[5] = (int (*)[5])a;
    printf("%d %d\n", row[1][0], (int)sizeof *row);
    const int *null = NULL;
    printf("%d %d\n", null == NULL, null != a);
    return 0;
}

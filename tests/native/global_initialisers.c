// Globals with addresses in them: of variables, elements, functions, strings, and each other.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static int array[5] = {10, 20, 30, 40, 50};
static int *middle = &array[2];
static int *const end = array + 5;
static int **indirect = &middle;

static int twice(int x) { return 2 * x; }
static int (*const functions[])(int) = {twice, NULL};

struct node {
    const char *name;
    struct node *next;
    int (*f)(int);
    int *where;
};

static struct node last;
static struct node first = {"first", &last, twice, &array[1]};
static struct node last = {"last", &first, NULL, (int *)((char *)array + 3 * sizeof(int))};

static const char *texts[2][2] = {{"a", &"b"[1]}, {&"hello"[2], NULL}};
static uintptr_t number = (uintptr_t)&array[0];
static ptrdiff_t offset = offsetof(struct node, f);
static struct {
    char c;
    short s;
    long long l;
    double d;
    float f[2];
} mixed = {'x', -2, 1ll << 40, 1e10, {0.5f, -0.25f}};
static int zeros[100];
static int partly[10] = {[3] = 7, [8] = 9};
static const unsigned char bytes[] = {1, 2, 255};

int main(void) {
    printf("%d %td %d\n", *middle, end - array, **indirect);
    printf("%d %d\n", functions[0](21), functions[1] == NULL);
    printf("%s %s %d %d\n", first.next->name, first.next->next->name, *first.where, *last.where);
    printf("%s|%s|%s|%d\n", texts[0][0], texts[0][1], texts[1][0], texts[1][1] == NULL);
    printf("%d %td\n", number == (uintptr_t)array, offset);
    printf("%c %d %lld %g %g %g\n", mixed.c, mixed.s, mixed.l, mixed.d, (double)mixed.f[0], (double)mixed.f[1]);
    printf("%d %d %d %d\n", zeros[99], partly[3], partly[8], partly[9]);
    printf("%d %zu\n", bytes[2], sizeof bytes);
    return 0;
}

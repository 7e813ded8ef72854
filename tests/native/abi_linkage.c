// Aliases, weak symbols, thread-local variables, constructors and destructors, computed jumps, tentative definitions.
#include <stdio.h>
#include <stdlib.h>

int tentative;
int tentative;
static int real(int x) { return x * 2 + tentative; }
int renamed(int x) __attribute__((alias("real")));
extern int same __attribute__((alias("tentative")));
extern int nobody __attribute__((weak));
int nowhere(void) __attribute__((weak));
__attribute__((weak)) int somewhere(void) { return 17; }
static _Thread_local int own = 5;
_Thread_local struct { int a[3]; char *text; } parts = {{1, 2, 3}, "parts"};
static int order;

__attribute__((constructor(201))) static void second(void) { order = order * 10 + 2; }
__attribute__((constructor(101))) static void first(void) { order = order * 10 + 1; }
__attribute__((constructor)) static void third(void) { order = order * 10 + 3; }
__attribute__((destructor)) static void last(void) { printf("destructor %d\n", order); }
static void at_exit(void) { printf("at exit\n"); order++; }

static int jump(int start, int steps) {
    static const void *const table[] = {&&zero, &&one, &&two};
    int state = start, trace = 0;
    goto *table[state];
zero:
    trace = trace * 3; state = 1; goto next;
one:
    trace = trace * 3 + 1; state = 2; goto next;
two:
    trace = trace * 3 + 2; state = 0;
next:
    if (steps-- > 0) goto *table[state];
    return trace;
}

static int *const pointers[] = {&tentative, &order, 0};
static struct { int *p; int (*f)(int); const char *s; long n; } record = {&tentative, real, &"record"[2], 9};

int main(void) {
    atexit(at_exit);
    tentative = 4;
    printf("%d %d %d\n", renamed(3), same, order);
    same = 6;
    printf("%d %d %d %d\n", tentative, &nobody != 0, nowhere != 0, somewhere());
    own++;
    parts.a[1] += own;
    printf("%d %d %s\n", own, parts.a[1], parts.text);
    printf("%d %d\n", jump(0, 7), jump(2, 4));
    *pointers[0] = 11;
    printf("%d %d %s %ld\n", *record.p, record.f(1), record.s, record.n);
    return order % 100;
}

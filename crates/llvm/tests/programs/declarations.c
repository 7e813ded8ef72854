// Linkage, sections, aliases, thread-local variables, initialisers of every kind.
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct inner { short s; char c[3]; };
struct outer { int a; struct inner b[2]; union { double d; char t[9]; } u; struct outer *next; int (*f)(int); };
struct flexible { int n; char data[]; };
enum color { red, green = 7, blue = -3 };

static int helper(int x) { return x + 1; }
extern int external_variable;
extern struct unknown incomplete;
int external_function(struct outer);
int unprototyped();
int tentative;
int weak_variable __attribute__((weak)) = 3;
extern int weak_reference __attribute__((weak));
__attribute__((weak)) int weak_function(void) { return 1; }
int alias_function(int) __attribute__((alias("helper")));
extern int alias_variable __attribute__((alias("tentative")));
__attribute__((section(".special"), aligned(64), used)) static int placed = 5;
__attribute__((visibility("hidden"))) int hidden = 6;
const char *const strings[] = {"plain", "quote \" back \\ zero \0 high \xff", "", 0};
static const wchar_t wide_text[] = L"wide";
_Thread_local int own = 1;
static _Thread_local struct outer own_record;
struct outer record = {1, {{2, "ab"}, {3, {4, 5, 6}}}, {.t = "union"}, &record, helper};
struct outer *chain[2] = {&record, &record + 1};
char *into = &((char *)&record)[offsetof(struct outer, b[1].c[2])];
struct flexible flexible = {3, {'a', 'b', 'c'}};
intptr_t as_number = (intptr_t)&tentative;
int (*functions[])(int) = {helper, alias_function, 0};
float single = 0.1f;
double values[] = {1e308, -0.0, 1.0 / 3, __builtin_inf(), __builtin_nan("")};
long double extended = 1.1L;
__int128 large = ((__int128)-5 << 70) + 3;
_Complex float complex_number = 1.5f + 2.5fi;
_Bool truth = 1;
enum color shade = blue;
unsigned char table[300] = {[3] = 5, [250 ... 255] = 9};
struct { unsigned a : 5; int : 3; int b : 20; unsigned long c : 50; } bits = {17, -100, 1UL << 49};

__attribute__((constructor)) static void first(void) { tentative = 1; }
__attribute__((destructor)) static void last(void) { tentative = 2; }
__attribute__((naked)) void bare(void) { __asm__("ret"); }
__attribute__((noinline, cold)) static int unused_result(void) { return __LINE__; }

int old_style(a, b) int a; char b; { return a + b; }

int main(int argc, char **argv) {
    static int counter;
    static struct outer local = {9};
    counter += unprototyped(argc, 2.5f, 'c');
    if (&weak_reference) counter += weak_reference;
    own++;
    own_record.a = own;
    register int fast = old_style(counter, 'x');
    switch (argc) {
        case 1: fast++;
        case 2 ... 9: fast *= 2; break;
        case -5: return external_function(local);
        default: fast = bits.b;
    }
    static void *labels[] = {&&one, &&two};
    goto *labels[argc & 1];
one:
    fast += (int)(long)(&&two - &&one);
two:;
    union { float f; unsigned u; } pun = {.f = single};
    struct flexible *f = &flexible;
    f->data[argc] = (char)pun.u;
    return fast + functions[argc & 1](*chain[0]->u.t) + (argv[0][0] == *into) + placed + hidden + unused_result();
}

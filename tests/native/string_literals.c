// Literals with escapes, arrays of strings, concatenation, character constants.
#include <stdio.h>
#include <string.h>

static const char *const months[] = {"January", "February", "March", "April", "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

int main(void) {
    printf("tab\there, quote \" backslash \\ octal \101 hex \x42 percent %% done\n");
    printf("%zu %d %d\n", sizeof "abc", 'a', '\'');
    printf("%s\n", "one "
                   "two "
                   "three");
    size_t total = 0;
    for (unsigned i = 0; i < 12; i++)
        total += strlen(months[i]) * (i + 1);
    printf("%zu %s %c\n", total, months[8], months[8][3]);
    char local[] = "mutable", same[3] = "abc";
    local[0] = 'M';
    printf("%s %.3s %zu\n", local, same, sizeof local);
    const char with_zero[] = "a\0b";
    printf("%zu %zu %d\n", sizeof with_zero, strlen(with_zero), with_zero[2]);
    return 0;
}

// Own and library string functions.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void reverse(char *s) {
    for (size_t i = 0, j = strlen(s); i + 1 < j; i++, j--) {
        char c = s[i];
        s[i] = s[j - 1];
        s[j - 1] = c;
    }
}

static int words(const char *s) {
    int n = 0, in = 0;
    for (; *s; s++) {
        int letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
        n += letter && !in;
        in = letter;
    }
    return n;
}

int main(void) {
    char text[64] = "the quick brown fox";
    printf("%zu %d\n", strlen(text), words(text));
    reverse(text);
    printf("%s\n", text);
    strcat(text, "!");
    strncat(text, "???????", 2);
    printf("%s %s %s\n", text, strchr(text, 'k'), strrchr(text, 'o'));
    printf("%d %d %d\n", strcmp("abc", "abd") < 0, strcmp("b", "abc") > 0, strncmp("abcdef", "abcxyz", 3));
    printf("%s\n", strstr("find the needle here", "needle"));
    char copy[16];
    strncpy(copy, "0123456789abcdefgh", 15);
    copy[15] = 0;
    printf("%s %d\n", copy, memcmp(copy, "0123", 4));
    memmove(copy + 2, copy, 10);
    printf("%s\n", copy);
    memset(copy, '-', 3);
    printf("%s\n", copy);
    for (char *p = copy; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    printf("%s %d %d %d\n", copy, isdigit('5') != 0, isalpha('5') != 0, isspace('\t') != 0);
    return 0;
}

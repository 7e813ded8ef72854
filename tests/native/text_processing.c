// Run lengths, Caesar, palindromes, a word count: bytes and branches.
#include <stdio.h>
#include <string.h>

static void run_length(const char *s, char *to) {
    while (*s) {
        int n = 1;
        while (s[n] == *s)
            n++;
        to += sprintf(to, "%c%d", *s, n);
        s += n;
    }
    *to = 0;
}

static void caesar(char *s, int by) {
    for (; *s; s++) {
        if (*s >= 'a' && *s <= 'z')
            *s = (char)('a' + (*s - 'a' + by + 26) % 26);
        else if (*s >= 'A' && *s <= 'Z')
            *s = (char)('A' + (*s - 'A' + by + 26) % 26);
    }
}

static int palindrome(const char *s) {
    size_t n = strlen(s);
    for (size_t i = 0; i < n / 2; i++)
        if (s[i] != s[n - 1 - i])
            return 0;
    return 1;
}

int main(void) {
    char buffer[64];
    run_length("aaabccddddd", buffer);
    printf("%s\n", buffer);
    strcpy(buffer, "Hello, World!");
    caesar(buffer, 3);
    printf("%s\n", buffer);
    caesar(buffer, -3);
    printf("%s\n", buffer);
    printf("%d %d %d %d\n", palindrome("racecar"), palindrome("abba"), palindrome("abca"), palindrome(""));
    int counts[26] = {0};
    for (const char *p = "sphinx of black quartz judge my vow"; *p; p++)
        if (*p != ' ')
            counts[*p - 'a']++;
    for (int i = 0; i < 26; i++)
        printf("%d", counts[i]);
    printf("\n");
    return 0;
}

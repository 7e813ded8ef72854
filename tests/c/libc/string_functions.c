// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <string.h>

int main(void) {
    char s[32];
    assert(strlen("") == 0 && strlen("abc") == 3 && strnlen("abcdef", 4) == 4);
    strcpy(s, "hello");
    strcat(s, ", world");
    assert(strcmp(s, "hello, world") == 0);
    assert(strcmp("a", "b") < 0 && strcmp("b", "a") > 0 && strcmp("ab", "a") > 0);
    assert(strncmp("abc", "abd", 2) == 0 && strncmp("abc", "abd", 3) < 0);
    assert(strchr(s, 'o') == s + 4 && strrchr(s, 'o') == s + 8 && strchr(s, 'z') == NULL);
    assert(strchr(s, 0) == s + 12);
    assert(strstr(s, "wor") == s + 7 && strstr(s, "word") == NULL);
    strncpy(s, "xy", 5);
    assert(memcmp(s, "xy\0\0\0, wo", 9) == 0);
    strncat(s, "abcdef", 3);
    assert(strcmp(s, "xyabc") == 0);
}

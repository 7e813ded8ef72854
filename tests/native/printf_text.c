// Strings with widths and precisions, results of the functions, truncation.
#include <stdio.h>
#include <string.h>

int main(void) {
    printf("[%s] [%10s] [%-10s] [%.3s] [%10.3s] [%-10.3s] [%.*s]\n", "hello", "hello", "hello", "hello", "hello",
           "hello", 2, "hello");
    printf("[%s] [%.0s] [%5s]\n", "", "hidden", "");
    char s[20];
    int n = snprintf(s, sizeof s, "%s %d", "number", 123456789);
    printf("%d [%s]\n", n, s);
    n = snprintf(s, sizeof s, "%s", "a text that is longer than the buffer");
    printf("%d [%s] %zu\n", n, s, strlen(s));
    n = snprintf(NULL, 0, "%d%d", 12, 345);
    printf("%d\n", n);
    n = sprintf(s, "%c%s%c", '<', "in", '>');
    printf("%d %s\n", n, s);
    n = printf("counted\n");
    printf("%d\n", n);
    puts("puts adds a newline");
    putchar('p');
    putchar('\n');
    fputs("fputs does not\n", stdout);
    fprintf(stdout, "%s %d\n", "fprintf", 5);
    return 0;
}

// Arrays whose size is known at run time only, in loops and as parameters.
#include <stdio.h>
#include <string.h>

static int trace(int n, int a[n][n]) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i][i];
    return sum;
}

static int fill(int n) {
    int a[n][n];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = i * n + j;
    return trace(n, a) * 1000 + (int)(sizeof a / sizeof a[0][0]);
}

int main(void) {
    for (int n = 1; n < 8; n++)
        printf("%d ", fill(n));
    printf("\n");
    char *chain = NULL;
    for (int i = 1; i < 5; i++) {
        char *block = __builtin_alloca((size_t)(i + 1));
        memset(block, 'a' + i, (size_t)i);
        block[i] = 0;
        printf("%s %s\n", block, chain ? chain : "-");
        chain = block;
    }
    return 0;
}

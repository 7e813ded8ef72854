// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <string.h>

static int triangle(int n) {
    int row[n];
    for (int i = 0; i < n; i++)
        row[i] = i + 1;
    int *copy = __builtin_alloca(sizeof row);
    memcpy(copy, row, sizeof row);
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += copy[i];
    return sum;
}

int main(void) {
    for (int n = 1; n < 10; n++)
        assert(triangle(n) == n * (n + 1) / 2);
}

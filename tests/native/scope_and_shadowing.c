// Shadowed variables, blocks in loops, compound literals, variables declared late.
#include <stdio.h>

static int x = 1;

static int sum(const int *a, int n) {
    int total = 0;
    while (n-- > 0)
        total += a[n];
    return total;
}

int main(void) {
    printf("%d ", x);
    int x = 2;
    {
        int x = 3;
        for (int x = 10; x < 12; x++) {
            int y = x * 2;
            printf("%d %d ", x, y);
        }
        printf("%d ", x);
    }
    printf("%d\n", x);
    printf("%d\n", sum((int[]){1, 2, 3, x}, 4));
    int *p = (int[3]){7};
    p[2] = p[0] + p[1];
    printf("%d\n", p[2]);
    for (int i = 0; i < 3; i++) {
        int fresh = 0;
        fresh += i;
        printf("%d ", fresh);
    }
    printf("\n");
    return 0;
}

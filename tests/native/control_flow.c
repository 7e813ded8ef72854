// break, continue, goto out of nested loops, comma, conditional chains, do-while, short circuits.
#include <stdio.h>

static int calls;

static int noted(int x) {
    calls = calls * 10 + x;
    return x > 4;
}

static int collatz(unsigned n) {
    int steps = 0;
    do {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    } while (n != 1);
    return steps;
}

int main(void) {
    for (int i = 0;; i++) {
        if (i % 3 == 0)
            continue;
        if (i > 10)
            break;
        printf("%d ", i);
    }
    printf("\n");
    for (int i = 1; i < 20; i++)
        for (int j = i; j < 20; j++)
            for (int k = j; k < 30; k++)
                if (i * i + j * j == k * k && i + j + k > 50) {
                    printf("%d %d %d\n", i, j, k);
                    goto out;
                }
out:
    printf("%d %d\n", noted(1) && noted(2), calls);
    printf("%d %d\n", noted(5) && noted(6), calls);
    calls = 0;
    printf("%d %d\n", noted(7) || noted(8), calls);
    int a = (calls = 3, calls + 4), b = a > 5 ? a > 6 ? 1 : 2 : 3;
    printf("%d %d %d %d\n", a, b, !a, !!a);
    printf("%d %d\n", collatz(27), collatz(97));
    int i = 0, x[5];
    while (i < 5)
        x[i] = i, i++;
    printf("%d %d\n", x[4]--, --x[3]);
    return 0;
}

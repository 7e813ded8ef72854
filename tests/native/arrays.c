// Arrays of several dimensions, sums, transposition, sieve.
#include <stdio.h>

#define N 6

int main(void) {
    int a[N][N], t[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i * i - 3 * j;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            t[j][i] = a[i][j];
    long product = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                product += (long)a[i][k] * t[k][j] * (i + 2 * j + 1);
    printf("%ld\n", product);

    char composite[200] = {0};
    int primes = 0;
    for (int i = 2; i < 200; i++) {
        if (composite[i])
            continue;
        primes++;
        for (int j = 2 * i; j < 200; j += i)
            composite[j] = 1;
    }
    printf("%d\n", primes);

    int cube[2][3][4] = {{{1, 2}, {3}}, {{4, 5, 6, 7}, {[3] = 8}}};
    int *flat = &cube[0][0][0];
    for (int i = 0; i < 24; i++)
        printf("%d ", flat[i]);
    printf("\n");
    return 0;
}

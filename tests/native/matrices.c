// Gaussian elimination in doubles, powers of an integer matrix.
#include <stdint.h>
#include <stdio.h>

#define N 4

static double determinant(double a[N][N]) {
    double det = 1;
    for (int c = 0; c < N; c++) {
        int pivot = c;
        for (int r = c + 1; r < N; r++)
            if ((a[r][c] < 0 ? -a[r][c] : a[r][c]) > (a[pivot][c] < 0 ? -a[pivot][c] : a[pivot][c]))
                pivot = r;
        if (pivot != c) {
            for (int k = 0; k < N; k++) {
                double t = a[c][k];
                a[c][k] = a[pivot][k];
                a[pivot][k] = t;
            }
            det = -det;
        }
        det *= a[c][c];
        for (int r = c + 1; r < N; r++) {
            double f = a[r][c] / a[c][c];
            for (int k = c; k < N; k++)
                a[r][k] -= f * a[c][k];
        }
    }
    return det;
}

struct m2 {
    uint64_t v[2][2];
};

static struct m2 times(struct m2 a, struct m2 b) {
    struct m2 r = {{{0}}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++)
                r.v[i][j] += a.v[i][k] * b.v[k][j];
    return r;
}

int main(void) {
    double a[N][N] = {{2, -1, 0, 3}, {1, 5, -2, 0.5}, {0, 1, 4, -1}, {3, 0, 1, 2}};
    printf("%.12f\n", determinant(a));
    struct m2 p = {{{1, 0}, {0, 1}}}, f = {{{1, 1}, {1, 0}}};
    for (int n = 90; n; n >>= 1) {
        if (n & 1)
            p = times(p, f);
        f = times(f, f);
    }
    printf("%llu\n", (unsigned long long)p.v[0][1]);
    return 0;
}

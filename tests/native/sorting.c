// Own sorting algorithms and qsort on the same data.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 40

static void insertion(int *a, int n) {
    for (int i = 1; i < n; i++) {
        int x = a[i], j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static void quick(int *a, int lo, int hi) {
    if (hi - lo < 2)
        return;
    int pivot = a[lo + (hi - lo) / 2], i = lo, j = hi - 1;
    while (i <= j) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i <= j) {
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    quick(a, lo, j + 1);
    quick(a, i, hi);
}

static void merge(int *a, int *tmp, int n) {
    if (n < 2)
        return;
    int half = n / 2, i = 0, j = half, k = 0;
    merge(a, tmp, half);
    merge(a + half, tmp, n - half);
    while (i < half && j < n)
        tmp[k++] = a[i] <= a[j] ? a[i++] : a[j++];
    while (i < half)
        tmp[k++] = a[i++];
    while (j < n)
        tmp[k++] = a[j++];
    memcpy(a, tmp, (size_t)n * sizeof *a);
}

static int compare(const void *p, const void *q) {
    int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

int main(void) {
    int data[N], a[N], tmp[N];
    unsigned seed = 12345;
    for (int i = 0; i < N; i++) {
        seed = seed * 1103515245u + 12345u;
        data[i] = (int)(seed >> 16) % 1000 - 500;
    }
    for (int which = 0; which < 4; which++) {
        memcpy(a, data, sizeof a);
        switch (which) {
        case 0: insertion(a, N); break;
        case 1: quick(a, 0, N); break;
        case 2: merge(a, tmp, N); break;
        case 3: qsort(a, N, sizeof *a, compare); break;
        }
        for (int i = 0; i < N; i++)
            printf("%d ", a[i]);
        printf("\n");
    }
    return 0;
}

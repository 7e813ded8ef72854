// Ackermann, Hanoi, permutations, mutual recursion, binary search.
#include <stdio.h>

static unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static int moves;

static void hanoi(int n, int from, int to, int via) {
    if (n == 0)
        return;
    hanoi(n - 1, from, via, to);
    moves = moves * 5 + from * 3 + to;
    moves %= 1000003;
    hanoi(n - 1, via, to, from);
}

static void permute(char *s, int k, int *count) {
    if (!s[k]) {
        if (++*count % 5 == 0)
            printf("%s ", s);
        return;
    }
    for (int i = k; s[i]; i++) {
        char t = s[k];
        s[k] = s[i];
        s[i] = t;
        permute(s, k + 1, count);
        t = s[k];
        s[k] = s[i];
        s[i] = t;
    }
}

static int search(const int *a, int lo, int hi, int x) {
    if (lo >= hi)
        return -1;
    int mid = lo + (hi - lo) / 2;
    return a[mid] == x ? mid : a[mid] < x ? search(a, mid + 1, hi, x) : search(a, lo, mid, x);
}

int main(void) {
    printf("%u\n", ackermann(2, 5));
    hanoi(8, 1, 3, 2);
    printf("%d\n", moves);
    char s[] = "abcd";
    int count = 0;
    permute(s, 0, &count);
    printf("%d %s\n", count, s);
    int a[50];
    for (int i = 0; i < 50; i++)
        a[i] = i * i;
    printf("%d %d %d\n", search(a, 0, 50, 49), search(a, 0, 50, 50), search(a, 0, 50, 2401));
    return 0;
}

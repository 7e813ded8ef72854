// RUN: check
// EXPECT: verified complete=1 blocked=0
// One past the end may be computed and compared, but not used.
#include <assert.h>

int main(void) {
    int a[5] = {1, 2, 3, 4, 5}, sum = 0;
    for (int *p = a; p != a + 5; p++)
        sum += *p;
    int *end = a + 5;
    assert(sum == 15 && end - a == 5 && end > a && *(end - 1) == 5);
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>

static int classify(int x) {
    switch (x) {
    case -1:
        return 1;
    case 0 ... 3:
        x += 10;
        break;
    case 100:
    case 200:
        return 3;
    default:
        goto other;
    }
    return x;
other:
    return -1;
}

static int computed(int n) {
    void *const labels[] = {&&zero, &&one, &&many};
    goto *labels[n > 2 ? 2 : n];
zero:
    return 0;
one:
    return 1;
many:
    return 2;
}

int main(void) {
    assert(classify(-1) == 1 && classify(2) == 12 && classify(200) == 3 && classify(50) == -1);
    assert(computed(0) == 0 && computed(1) == 1 && computed(9) == 2);
}

// RUN: check
// EXPECT: verified complete=2 blocked=0
#include <assert.h>
#include <threads.h>

static mtx_t m;
static int n;

static int worker(void *arg) {
    mtx_lock(&m);
    n += *(int *)arg;
    mtx_unlock(&m);
    return *(int *)arg;
}

int main(void) {
    thrd_t a, b;
    int one = 1, two = 2, ra, rb;
    assert(mtx_init(&m, mtx_plain) == thrd_success);
    thrd_create(&a, worker, &one);
    thrd_create(&b, worker, &two);
    assert(thrd_join(a, &ra) == thrd_success);
    assert(thrd_join(b, &rb) == thrd_success);
    assert(n == 3 && ra == 1 && rb == 2);
    mtx_destroy(&m);
}

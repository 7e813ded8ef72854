// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <threads.h>

int main(void) {
    mtx_t r, p;
    assert(mtx_init(&r, mtx_plain | mtx_recursive) == thrd_success);
    assert(mtx_lock(&r) == thrd_success);
    assert(mtx_lock(&r) == thrd_success);
    assert(mtx_trylock(&r) == thrd_success);
    for (int i = 0; i < 3; i++)
        assert(mtx_unlock(&r) == thrd_success);
    mtx_destroy(&r);
    assert(mtx_init(&p, mtx_plain) == thrd_success);
    assert(mtx_trylock(&p) == thrd_success);
    assert(mtx_trylock(&p) == thrd_busy);
    assert(mtx_unlock(&p) == thrd_success);
    mtx_destroy(&p);
}

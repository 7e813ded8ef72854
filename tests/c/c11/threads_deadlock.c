// RUN: check
// EXPECT: violation deadlock
#include <threads.h>

static mtx_t m;

int main(void) {
    mtx_init(&m, mtx_plain);
    mtx_lock(&m);
    mtx_lock(&m); // HERE
}

// RUN: check --all
// EXPECT: violation assertion
// EXPECT: violation assertion
// Both results are possible: ~2 if the second one comes last, ~1 if the first one does.
#include <assert.h>
#include <pthread.h>

static int x = 3;

static void *first(void *arg) {
    (void)arg;
    __atomic_fetch_nand(&x, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static void *second(void *arg) {
    (void)arg;
    __atomic_fetch_nand(&x, 2, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, first, 0);
    pthread_create(&t, 0, second, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    if (x == ~1)
        assert(x != ~1); // HERE
    else
        assert(x != ~2); // HERE
}

// RUN: check --unroll 3
// EXPECT: violation assertion
// A thread that waits for a word is woken by the store of a byte of it.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint32_t word;
    uint8_t byte[4];
} u;

static void *writer(void *arg) {
    (void)arg;
    __atomic_store_n(&u.byte[2], 1, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    while (__atomic_load_n(&u.word, __ATOMIC_SEQ_CST) == 0) {
    }
    assert(0); // HERE
    pthread_join(t, 0);
}

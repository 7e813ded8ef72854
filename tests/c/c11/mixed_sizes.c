// RUN: check
// EXPECT: verified complete=2 blocked=0
// A byte store changes the word that contains it.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint32_t word;
    uint8_t byte[4];
} u = {.word = 0x11223344};

static void *writer(void *arg) {
    (void)arg;
    __atomic_store_n(&u.byte[1], 0xff, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    uint32_t seen = __atomic_load_n(&u.word, __ATOMIC_SEQ_CST);
    assert(seen == 0x11223344 || seen == 0x1122ff44);
    pthread_join(t, 0);
    assert(u.word == 0x1122ff44);
}

// RUN: check
// EXPECT: verified complete=5 blocked=0
// The exchange of the word succeeds only before the store of its second byte; if it succeeds, it also conflicts with the
// load of its first byte, which has nothing to do with that store. (3 traces with success, 2 without.)
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static union {
    uint32_t word;
    uint8_t byte[4];
} u;
static atomic_int x;

static void *exchange(void *arg) {
    (void)arg;
    uint32_t expected = 0;
    __atomic_compare_exchange_n(&u.word, &expected, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    atomic_store(&x, 1);
    return 0;
}

static void *load(void *arg) {
    (void)arg;
    atomic_store(&x, 2);
    (void)__atomic_load_n(&u.byte[0], __ATOMIC_SEQ_CST);
    return 0;
}

static void *store(void *arg) {
    (void)arg;
    __atomic_store_n(&u.byte[1], 1, __ATOMIC_SEQ_CST);
    return 0;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, exchange, 0);
    pthread_create(&t[1], 0, load, 0);
    pthread_create(&t[2], 0, store, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
}

// EXPECT purity: violation assertion
// EXPECT await: violation assertion
// A store to a byte wakes a thread that waits for the int around it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static union {
    atomic_int whole;
    atomic_char bytes[4];
} word;
static int seen;

static void *waiter(void *arg) {
    while (atomic_load(&word.whole) == 0) {
    }
    assert(!seen);
    return arg;
}

static void *setter(void *arg) {
    seen = 1;
    atomic_store(&word.bytes[2], 1);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, waiter, 0);
    pthread_create(&b, 0, setter, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

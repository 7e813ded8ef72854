// RUN: check
// EXPECT: verified
// Initialised once, and everybody sees it done.
#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int value;

static void init(void) {
    value++;
}

static void *worker(void *arg) {
    (void)arg;
    pthread_once(&once, init);
    assert(value == 1);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(value == 1);
}

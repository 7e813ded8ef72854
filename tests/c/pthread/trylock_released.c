// RUN: check
// EXPECT: violation assertion
// If the first one releases the lock in time, both succeed.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int succeeded;

static void *attempt(void *arg) {
    (void)arg;
    if (pthread_mutex_trylock(&m) == 0) {
        atomic_fetch_add(&succeeded, 1);
        pthread_mutex_unlock(&m);
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, attempt, 0);
    pthread_create(&b, 0, attempt, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(succeeded != 2); // HERE
}

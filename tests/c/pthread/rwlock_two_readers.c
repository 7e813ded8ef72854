// RUN: check
// EXPECT: violation assertion
// Two readers can be inside at the same time.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int inside;

static void *reader(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&l);
    int before = atomic_fetch_add(&inside, 1);
    assert(before == 0); // HERE
    atomic_fetch_sub(&inside, 1);
    pthread_rwlock_unlock(&l);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

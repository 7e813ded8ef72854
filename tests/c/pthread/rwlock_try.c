// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_rwlock_t l;

static void *other(void *arg) {
    (void)arg;
    assert(pthread_rwlock_tryrdlock(&l) == 0);
    assert(pthread_rwlock_trywrlock(&l) == EBUSY);
    assert(pthread_rwlock_unlock(&l) == 0);
    return 0;
}

static void *shut_out(void *arg) {
    (void)arg;
    assert(pthread_rwlock_tryrdlock(&l) == EBUSY);
    assert(pthread_rwlock_trywrlock(&l) == EBUSY);
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_rwlock_init(&l, 0);
    assert(pthread_rwlock_rdlock(&l) == 0);
    pthread_create(&t, 0, other, 0);
    pthread_join(t, 0);
    assert(pthread_rwlock_unlock(&l) == 0);
    assert(pthread_rwlock_wrlock(&l) == 0);
    pthread_create(&t, 0, shut_out, 0);
    pthread_join(t, 0);
    assert(pthread_rwlock_unlock(&l) == 0);
    assert(pthread_rwlock_destroy(&l) == 0);
}

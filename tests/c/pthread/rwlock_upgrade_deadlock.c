// RUN: check
// EXPECT: violation deadlock
// Two readers both wait for the other one to leave.
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *upgrade(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_wrlock(&l); // HERE
    pthread_rwlock_unlock(&l);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, upgrade, 0);
    pthread_create(&b, 0, upgrade, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

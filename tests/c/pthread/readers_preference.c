// RUN: check
// EXPECT: verified
// A second reader may enter while a writer waits: no deadlock, although the first waits for the second.
#include <pthread.h>
#include <semaphore.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;

static void *writer(void *arg) {
    (void)arg;
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    return 0;
}

static void *second(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&l);
    sem_post(&s);
    pthread_rwlock_unlock(&l);
    return 0;
}

int main(void) {
    pthread_t a, b;
    sem_init(&s, 0, 0);
    pthread_rwlock_rdlock(&l);
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, second, 0);
    sem_wait(&s);
    pthread_rwlock_unlock(&l);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

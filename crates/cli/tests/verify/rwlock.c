// Two readers and a writer. With BUG, the writer locks for reading.
#include <assert.h>
#include <pthread.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int a, b;

void *reader(void *arg) {
  pthread_rwlock_rdlock(&lock);
  assert(a == b);
  pthread_rwlock_unlock(&lock);
  return 0;
}

void *writer(void *arg) {
#ifdef BUG
  pthread_rwlock_rdlock(&lock);
#else
  pthread_rwlock_wrlock(&lock);
#endif
  a = a + 1;
  b = b + 1;
  pthread_rwlock_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, reader, 0);
  pthread_create(&second, 0, writer, 0);
  if (pthread_rwlock_tryrdlock(&lock) == 0) {
    assert(a == b);
    pthread_rwlock_unlock(&lock);
  }
  pthread_join(first, 0);
  pthread_join(second, 0);
  assert(a == 1);
  return 0;
}

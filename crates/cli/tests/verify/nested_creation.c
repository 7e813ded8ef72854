// Threads that create threads. With BUG, one of them is not waited for.
#include <assert.h>
#include <pthread.h>

int x;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void add(void) {
  pthread_mutex_lock(&mutex);
  x = x + 1;
  pthread_mutex_unlock(&mutex);
}

void *inner(void *arg) {
  add();
  return 0;
}

void *outer(void *arg) {
  pthread_t thread;
  pthread_create(&thread, 0, inner, 0);
  add();
#ifndef BUG
  pthread_join(thread, 0);
#endif
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, outer, 0);
  pthread_create(&b, 0, outer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x == 4);
  return 0;
}

// Which of two waiting threads does a signal wake? With BUG, the program takes it for granted that it is the first.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int go, first, waiting;

void *waiter(void *arg) {
  pthread_mutex_lock(&mutex);
  waiting++;
  while (!go)
    pthread_cond_wait(&condition, &mutex);
  go = 0;
  if (!first)
    first = (int)(long)arg;
  pthread_mutex_unlock(&mutex);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, waiter, (void *)1);
  pthread_create(&b, 0, waiter, (void *)2);
  pthread_mutex_lock(&mutex);
  int both = waiting == 2;
  go = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
#ifdef BUG
  pthread_mutex_lock(&mutex);
  if (both && first)
    assert(first == 1);
  pthread_mutex_unlock(&mutex);
#endif
  return both & 0;
}

/* A producer and a consumer with an error: the consumer does not look whether there is anything to take.
 * If it runs twice in a row on an empty buffer, the count goes below zero. Safe when both take turns. */
#include <assert.h>
#include <pthread.h>

#ifndef SLOTS
#define SLOTS 5
#endif

int buffer[SLOTS];
int count;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Counted by `selvedge run --schedule`; does nothing elsewhere. */
__attribute__((weak)) void selvedge_useful(void) {}

static void produce(int item) {
  pthread_mutex_lock(&mutex);
  if (count < SLOTS) {
    buffer[count] = item;
    count = count + 1;
    selvedge_useful();
  }
  pthread_mutex_unlock(&mutex);
}

static int consume(void) {
  pthread_mutex_lock(&mutex);
  assert(count > 0);
  int item = buffer[count - 1];
  count = count - 1;
  selvedge_useful();
  pthread_mutex_unlock(&mutex);
  return item;
}

void *producer(void *arg) {
  int item = 0;
  while (1) {
    produce(item);
    item = item + 1;
  }
  return 0;
}

void *consumer(void *arg) {
  while (1)
    consume();
  return 0;
}

int main(void) {
  pthread_t t1, t2;
  pthread_create(&t1, 0, producer, 0);
  pthread_create(&t2, 0, consumer, 0);
  pthread_join(t1, 0);
  pthread_join(t2, 0);
  return 0;
}

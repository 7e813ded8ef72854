/* Four producers and four consumers: a correct bounded buffer. Whoever finds it full or empty tries again. */
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
    assert(count >= 0);
    buffer[count] = item;
    count = count + 1;
    selvedge_useful();
  }
  pthread_mutex_unlock(&mutex);
}

static int consume(void) {
  int item = 0;
  pthread_mutex_lock(&mutex);
  if (count > 0) {
    assert(count <= SLOTS);
    item = buffer[count - 1];
    count = count - 1;
    selvedge_useful();
  }
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
  pthread_t p1, p2, p3, p4, c1, c2, c3, c4;
  pthread_create(&p1, 0, producer, 0);
  pthread_create(&p2, 0, producer, 0);
  pthread_create(&p3, 0, producer, 0);
  pthread_create(&p4, 0, producer, 0);
  pthread_create(&c1, 0, consumer, 0);
  pthread_create(&c2, 0, consumer, 0);
  pthread_create(&c3, 0, consumer, 0);
  pthread_create(&c4, 0, consumer, 0);
  pthread_join(p1, 0);
  pthread_join(p2, 0);
  pthread_join(p3, 0);
  pthread_join(p4, 0);
  pthread_join(c1, 0);
  pthread_join(c2, 0);
  pthread_join(c3, 0);
  pthread_join(c4, 0);
  return 0;
}

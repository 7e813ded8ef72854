// Structures that are assigned, and memory that is filled: under a lock, or (BUG) in the middle of being read.
#include <assert.h>
#include <pthread.h>
#include <string.h>

struct pair {
  long a, b;
};
struct pair shared, table[4];
int cells[3] = {1, 2, 3};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
#ifndef BUG
  pthread_mutex_lock(&mutex);
#endif
}

static void unlock(void) {
#ifndef BUG
  pthread_mutex_unlock(&mutex);
#endif
}

void *reader(void *arg) {
  lock();
  struct pair copy = shared;
  unlock();
  assert(copy.a == copy.b);
  return 0;
}

int main(void) {
  pthread_t thread;
  struct pair local;
  memset(cells, 0, sizeof cells);
  pthread_create(&thread, 0, reader, 0);
  local.a = local.b = 7;
  lock();
  memcpy(&shared, &local, sizeof local);
  unlock();
  table[2] = local;
  pthread_join(thread, 0);
  assert(shared.a == 7 && table[2].b == 7 && cells[1] == 0);
  return 0;
}

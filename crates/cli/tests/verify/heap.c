// A list of allocated nodes that two threads push to. With BUG, one is used after it was freed.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
  int value;
  struct node *next;
};
struct node *head;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void push(int value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  pthread_mutex_lock(&mutex);
  node->next = head;
  head = node;
  pthread_mutex_unlock(&mutex);
}

void *pusher(void *arg) {
  push(1);
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, pusher, 0);
  push(2);
  pthread_join(thread, 0);
  int sum = 0;
  for (struct node *node = head; node; node = node->next)
    sum += node->value;
  assert(sum == 3);
  int *zeroed = calloc(2, sizeof(int));
  assert(zeroed[0] == 0);
  struct node *first = head;
#ifdef BUG
  free(first);
#endif
  assert(first->value > 0);
  return 0;
}

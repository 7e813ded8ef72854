/* A parallel grep in the manner of pfscan: files wait in a queue, two threads take one after the other and search it.
 * What a search finds is an input for the verifier; pfscan_search.c is a search, to be linked in:
 *
 *   selvedge run pfscan.c --schedule schedule-1.json --link pfscan_search.c */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#ifndef FILES
#define FILES 8
#endif

int __VERIFIER_nondet_int(void);

int waiting = FILES;
pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

void *worker(void *arg) {
  int hits = 0;
  while (1) {
    pthread_mutex_lock(&queue);
    int file = waiting - 1;
    if (file < 0)
      break;
    assert(file < FILES);
    waiting = file;
    pthread_mutex_unlock(&queue);
    hits = hits + __VERIFIER_nondet_int();
  }
  pthread_mutex_unlock(&queue);
  printf("%d hits\n", hits);
  return 0;
}

int main(void) {
  pthread_t w1, w2;
  pthread_create(&w1, 0, worker, 0);
  pthread_create(&w2, 0, worker, 0);
  pthread_join(w1, 0);
  pthread_join(w2, 0);
  return 0;
}

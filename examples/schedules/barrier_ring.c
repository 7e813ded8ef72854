/* Threads in a ring: each writes a cell, all meet, each reads the cell of its neighbour, all meet again. */
#include <assert.h>
#include <pthread.h>

int cell0, cell1;
pthread_barrier_t written, taken;

/* Counted by `selvedge run --schedule`; does nothing elsewhere. */
__attribute__((weak)) void selvedge_useful(void) {}

void *node0(void *arg) {
  int round = 0;
  while (1) {
    cell0 = round;
    pthread_barrier_wait(&written);
    int other = cell1;
    assert(other == round);
    selvedge_useful();
    pthread_barrier_wait(&taken);
    round = 1 - round;
  }
  return 0;
}

void *node1(void *arg) {
  int round = 0;
  while (1) {
    cell1 = round;
    pthread_barrier_wait(&written);
    int other = cell0;
    assert(other == round);
    selvedge_useful();
    pthread_barrier_wait(&taken);
    round = 1 - round;
  }
  return 0;
}

int main(void) {
  pthread_t t0, t1;
  pthread_barrier_init(&written, 0, 2);
  pthread_barrier_init(&taken, 0, 2);
  pthread_create(&t0, 0, node0, 0);
  pthread_create(&t1, 0, node1, 0);
  pthread_join(t0, 0);
  pthread_join(t1, 0);
  return 0;
}

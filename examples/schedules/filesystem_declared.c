/* The disk block without mutexes: what has to hold is declared, and the schedule sees to it. */
#include <pthread.h>

void __VERIFIER_assume(int);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

int block;
int busy;
int inode;

/* Counted by `selvedge run --schedule`; does nothing elsewhere. */
__attribute__((weak)) void selvedge_useful(void) {}

void *allocate(void *arg) {
  while (1) {
    if (inode == 0) {
      busy = 1;
      inode = 1;
    }
    __VERIFIER_atomic_begin();
    __VERIFIER_assume(inode == 1 && busy == 1);
    block = 1;
    __VERIFIER_atomic_end();
    selvedge_useful();
  }
  return 0;
}

void *reset(void *arg) {
  while (1) {
    if (busy == 0) {
      __VERIFIER_atomic_begin();
      __VERIFIER_assume(busy == 0);
      block = 0;
      __VERIFIER_atomic_end();
      selvedge_useful();
    }
  }
  return 0;
}

void *deallocate(void *arg) {
  while (1) {
    __VERIFIER_atomic_begin();
    __VERIFIER_assume(inode == busy);
    inode = 0;
    busy = 0;
    __VERIFIER_atomic_end();
    selvedge_useful();
  }
  return 0;
}

int main(void) {
  pthread_t t1, t2, t3;
  pthread_create(&t1, 0, allocate, 0);
  pthread_create(&t2, 0, reset, 0);
  pthread_create(&t3, 0, deallocate, 0);
  pthread_join(t1, 0);
  pthread_join(t2, 0);
  pthread_join(t3, 0);
  return 0;
}

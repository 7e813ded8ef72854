/* A disk block that is protected by one mutex or by another, depending on a busy bit. */
#include <assert.h>
#include <pthread.h>

int block;
int busy;
int inode;
pthread_mutex_t m_inode = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t m_busy = PTHREAD_MUTEX_INITIALIZER;

/* Counted by `selvedge run --schedule`; does nothing elsewhere. */
__attribute__((weak)) void selvedge_useful(void) {}

void *allocate(void *arg) {
  while (1) {
    pthread_mutex_lock(&m_inode);
    if (inode == 0) {
      pthread_mutex_lock(&m_busy);
      busy = 1;
      pthread_mutex_unlock(&m_busy);
      inode = 1;
    }
    block = 1;
    assert(block == 1);
    selvedge_useful();
    pthread_mutex_unlock(&m_inode);
  }
  return 0;
}

void *reset(void *arg) {
  while (1) {
    pthread_mutex_lock(&m_busy);
    if (busy == 0) {
      block = 0;
      assert(block == 0);
      selvedge_useful();
    }
    pthread_mutex_unlock(&m_busy);
  }
  return 0;
}

void *deallocate(void *arg) {
  while (1) {
    pthread_mutex_lock(&m_inode);
    pthread_mutex_lock(&m_busy);
    inode = 0;
    busy = 0;
    selvedge_useful();
    pthread_mutex_unlock(&m_busy);
    pthread_mutex_unlock(&m_inode);
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

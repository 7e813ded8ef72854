/* Two threads take two mutexes in opposite order: a deadlock, unless they take turns.
 * -DFIXED takes them in the same order; -DSLEEP=1000 stays in the critical section for a millisecond. */
#include <pthread.h>
#include <unistd.h>

int entered;
pthread_mutex_t mutex1 = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t mutex2 = PTHREAD_MUTEX_INITIALIZER;

/* Counted by `selvedge run --schedule`; does nothing elsewhere. */
__attribute__((weak)) void selvedge_useful(void) {}

static void critical_section(void) {
  entered = entered + 1;
#ifdef SLEEP
  usleep(SLEEP);
#endif
  selvedge_useful();
}

void *first(void *arg) {
  while (1) {
    pthread_mutex_lock(&mutex1);
    pthread_mutex_lock(&mutex2);
    critical_section();
    pthread_mutex_unlock(&mutex2);
    pthread_mutex_unlock(&mutex1);
  }
  return 0;
}

void *second(void *arg) {
  while (1) {
#ifdef FIXED
    pthread_mutex_lock(&mutex1);
    pthread_mutex_lock(&mutex2);
#else
    pthread_mutex_lock(&mutex2);
    pthread_mutex_lock(&mutex1);
#endif
    critical_section();
    pthread_mutex_unlock(&mutex2);
    pthread_mutex_unlock(&mutex1);
  }
  return 0;
}

int main(void) {
  pthread_t t1, t2;
  pthread_create(&t1, 0, first, 0);
  pthread_create(&t2, 0, second, 0);
  pthread_join(t1, 0);
  pthread_join(t2, 0);
  return 0;
}

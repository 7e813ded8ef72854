/* A thread that starts in front of its first access has computed something by itself until then: 3. */
#include <assert.h>
#include <pthread.h>

int seen;

void *count(void *arg) {
  int i = 3;
  do {
    seen = i;
    i = i + 1;
  } while (i < 6);
  return 0;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, count, 0);
  int now = seen;
  assert(now == 0 || (now >= 3 && now <= 5));
  pthread_join(t, 0);
  assert(seen == LAST);
  return 0;
}

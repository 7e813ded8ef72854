// Pointers that may point into one of several objects: chosen by an input, stored where others read them, or null.
#include <assert.h>
#include <pthread.h>

int __VERIFIER_nondet_int(void);
int x, y;
int *chosen = &x;
int *late;

void *writer(void *arg) {
  *chosen = 5;
  return 0;
}

void *reader(void *arg) {
#ifndef BUG
  if (late)
#endif
    assert(*late == 0 || *late == 5);
  return 0;
}

int main(void) {
  pthread_t a, b;
  if (__VERIFIER_nondet_int() == 1)
    chosen = &y;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  late = __VERIFIER_nondet_int() == 2 ? &x : &y;
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(x + y == 5);
  return 0;
}

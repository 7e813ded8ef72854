// RUN: check --leaks
// EXPECT: verified complete=1 blocked=0
// Memory that comes back through join.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static void *make(void *arg) {
    int *p = malloc(sizeof *p);
    *p = (int)(long)arg * 2;
    return p;
}

int main(void) {
    pthread_t s, t;
    void *a, *b;
    pthread_create(&s, 0, make, (void *)1);
    pthread_create(&t, 0, make, (void *)2);
    pthread_join(s, &a);
    pthread_join(t, &b);
    assert(*(int *)a == 2 && *(int *)b == 4 && a != b);
    free(a);
    free(b);
}

// RUN: check
// EXPECT: verified complete=1 blocked=0
// Assignment of structs whose padding was never written.
#include <assert.h>
#include <pthread.h>

struct padded {
    char c;
    int i;
    char d;
    long l;
};

static struct padded shared;

static void *worker(void *arg) {
    struct padded copy = *(struct padded *)arg;
    shared = copy;
    return 0;
}

int main(void) {
    pthread_t t;
    struct padded p;
    p.c = 1;
    p.i = 2;
    p.d = 3;
    p.l = 4;
    pthread_create(&t, 0, worker, &p);
    pthread_join(t, 0);
    struct padded q = shared;
    assert(q.c == 1 && q.i == 2 && q.d == 3 && q.l == 4);
}

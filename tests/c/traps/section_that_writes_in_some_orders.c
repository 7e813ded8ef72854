// RUN: check
// EXPECT: verified complete=5 blocked=0
// The section writes q only before p is set; if it does, it conflicts with the load of q. (3 traces with, 2 without.)
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

static atomic_int p, q, x;

static void *section(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
    if (atomic_load(&p) == 0)
        atomic_store(&q, 1);
    __VERIFIER_atomic_end();
    atomic_store(&x, 1);
    return 0;
}

static void *load(void *arg) {
    (void)arg;
    atomic_store(&x, 2);
    (void)atomic_load(&q);
    return 0;
}

static void *set(void *arg) {
    (void)arg;
    atomic_store(&p, 1);
    return 0;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, section, 0);
    pthread_create(&t[1], 0, load, 0);
    pthread_create(&t[2], 0, set, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
}

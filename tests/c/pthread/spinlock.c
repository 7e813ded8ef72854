// RUN: check
// EXPECT: verified complete=2 blocked=0
#include <assert.h>
#include <pthread.h>

static pthread_spinlock_t s;
static int n;

static void *worker(void *arg) {
    (void)arg;
    pthread_spin_lock(&s);
    n++;
    pthread_spin_unlock(&s);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(n == 2);
    pthread_spin_destroy(&s);
}

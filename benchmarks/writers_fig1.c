/* Two threads write x and then y; main joins both and reads x and y.
 *
 * Two orders of the writes of x times two of the writes of y: 4 traces.
 * (Aronis et al., Optimal DPOR with Observers, TACAS 2018, Fig. 1.) */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_int x, y;

static void *writer(void *arg) {
    int value = (int)(intptr_t)arg;
    atomic_store(&x, value);
    atomic_store(&y, value);
    return NULL;
}

int main(void) {
    pthread_t p, q;
    pthread_create(&p, NULL, writer, (void *)(intptr_t)1);
    pthread_create(&q, NULL, writer, (void *)(intptr_t)2);
    pthread_join(p, NULL);
    pthread_join(q, NULL);
    int a = atomic_load(&x);
    int b = atomic_load(&y);
    assert(a != 0 && b != 0);
    return 0;
}

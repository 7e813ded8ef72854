// EXPECT purity: verified complete=1 blocked=1
// EXPECT await: verified complete=1 blocked=1
// EXPECT graph: verified complete=1 blocked=0
// The second thing that is waited for is known to the thread alone. The first one changes, so it does not spin forever.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int x;

static void *waiter(void *arg) {
    atomic_int *own = malloc(sizeof *own);
    atomic_init(own, 0);
    while (!atomic_load(&x) && !atomic_load(own)) {
    }
    free(own);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&x, 1);
    pthread_join(t, 0);
}

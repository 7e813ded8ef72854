// EXPECT purity: violation use-after-free
// EXPECT await: violation use-after-free
// An await on memory that another thread has freed is a use after free.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static void *waiter(void *arg) {
    atomic_int *flag = arg;
    while (!atomic_load(flag)) {
    }
    return 0;
}

int main(void) {
    atomic_int *flag = malloc(sizeof *flag);
    atomic_init(flag, 0);
    pthread_t a;
    pthread_create(&a, 0, waiter, flag);
    free(flag);
    pthread_join(a, 0);
}

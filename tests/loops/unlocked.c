// EXPECT purity: violation data-race
// EXPECT await: violation data-race
// A plain flag: the iterations that do nothing are cut off, and the race on the flag is found all the same.
#include <pthread.h>

static volatile int flag;

static void *waiter(void *arg) {
    while (!flag) {
    }
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, waiter, 0);
    flag = 1;
    pthread_join(a, 0);
}

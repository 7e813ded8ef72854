/* On one way, for one input, the thread comes to an assumption that never holds: it is not sure to go on. */
#include <pthread.h>

extern void __VERIFIER_assume(int);
extern _Bool __VERIFIER_nondet_bool(void);

static void *waits(void *unused) {
    if (__VERIFIER_nondet_bool())
        __VERIFIER_assume(0);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    pthread_join(thread, 0);
    return 0;
}

/* What a thread has written is seen before it waits for something (WAITS), and before the process ends. */
#include <assert.h>
#include <pthread.h>

extern void __VERIFIER_assume(int);
extern _Bool __VERIFIER_nondet_bool(void);
int x;

static void *reader(void *unused) {
    assert(x == 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    _Bool goes_on = __VERIFIER_nondet_bool();
    pthread_create(&thread, 0, reader, 0);
#ifdef WAITS
    x = 1;
    __VERIFIER_assume(goes_on);
    x = 0;
#else
    if (goes_on)
        pthread_join(thread, 0);
    x = 1;
#endif
    return 0;
}

/* Both ways of the branch take the same input, once in every round: x in one round and y in another. */
#include <assert.h>
#include <pthread.h>

extern _Bool __VERIFIER_nondet_bool(void);
int x, y;

static void *both(void *unused) {
    while (1) {
        if (__VERIFIER_nondet_bool())
            x = 1;
        else
            y = 1;
        assert(!(x && y));
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, both, 0);
    pthread_join(thread, 0);
    return 0;
}

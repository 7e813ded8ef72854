// EXPECT purity: verified complete=3 blocked=5
// EXPECT await: verified complete=8 blocked=0
// A thread notes how often the bell has rung, looks whether it is its turn, and otherwise waits for the bell to ring again.
// Such an iteration is over only when something has happened, so there is no need to cut it off.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int turn, bell[2];

static void *waiter(void *arg) {
    unsigned me = 1 % 2;
    for (;;) {
        int rung = atomic_load(&bell[me]);
        if (atomic_load(&turn))
            break;
        while (atomic_load(&bell[me]) == rung) {
        }
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_fetch_add(&bell[1], 1);
    atomic_store(&turn, 1);
    atomic_fetch_add(&bell[1], 1);
    pthread_join(t, 0);
}

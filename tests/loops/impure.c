// EXPECT purity: incomplete
// EXPECT await: incomplete
// Loops that do something in every iteration are left alone.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag, polls;
static int table[4];

static int counts(void) {
    int n = 0;
    while (!atomic_load(&flag))
        n++;
    return n;
}

static void polls_in_public(void) {
    while (!atomic_load(&flag))
        atomic_fetch_add(&polls, 1);
}

static void fills(void) {
    for (int i = 0; i < 4; i++)
        table[i] = i;
}

static void *setter(void *arg) {
    atomic_store(&flag, 1);
    return arg;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, setter, 0);
    polls_in_public();
    fills();
    pthread_join(a, 0);
    return counts() + table[0];
}

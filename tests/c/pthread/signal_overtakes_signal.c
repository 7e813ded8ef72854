// RUN: check --engine graph --model sc
// EXPECT: violation assertion
// Two threads sleep, and two signals come in any order: each of them may wake either thread.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int asleep, seen[2] = {-1, -1};
static atomic_int first;

static void *sleeper(void *arg) {
    pthread_mutex_lock(&mutex);
    asleep++;
    pthread_cond_wait(&condition, &mutex);
    *(int *)arg = first;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *signal_late(void *arg) {
    (void)arg;
    first = 1;
    pthread_cond_signal(&condition);
    return 0;
}

static void *signal_now(void *arg) {
    (void)arg;
    pthread_cond_signal(&condition);
    return 0;
}

int main(void) {
    pthread_t t[4];
    pthread_create(&t[0], 0, sleeper, &seen[0]);
    pthread_create(&t[1], 0, sleeper, &seen[1]);
    pthread_mutex_lock(&mutex);
    int both = asleep == 2;
    pthread_mutex_unlock(&mutex);
    if (!both)
        return 0;
    pthread_create(&t[2], 0, signal_late, 0);
    pthread_create(&t[3], 0, signal_now, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    assert(!(seen[1] == 0 && seen[0] == 1)); // HERE
    return 0;
}

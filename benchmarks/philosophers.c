/* N dining philosophers. Each takes the left fork, then the right one, eats, and puts both back.
 *
 * If all hold their left fork, nobody gets on: a deadlock. With -DFIXED the last one takes the right fork first. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static pthread_mutex_t fork_at[N];
static int meals[N];

static void *philosopher(void *arg) {
    int me = (int)(intptr_t)arg;
    int first = me, second = (me + 1) % N;
#ifdef FIXED
    if (first > second) {
        int swap = first;
        first = second;
        second = swap;
    }
#endif
    pthread_mutex_lock(&fork_at[first]);
    pthread_mutex_lock(&fork_at[second]);
    meals[me]++;
    pthread_mutex_unlock(&fork_at[second]);
    pthread_mutex_unlock(&fork_at[first]);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&fork_at[i], NULL);
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, philosopher, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < N; i++)
        assert(meals[i] == 1);
    return 0;
}

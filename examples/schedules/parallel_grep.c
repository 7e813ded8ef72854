// A parallel grep in the manner of pfscan, as a service: one thread hands out the numbers of files through a small stack,
// two others search them. Condition variables say that there is work, or room for more.
#include <assert.h>
#include <pthread.h>

#ifndef SLOTS
#define SLOTS 4
#endif

int __VERIFIER_nondet_int(void);

static int queue[SLOTS];
static int waiting;
static int hits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sum = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER;

static void *worker(void *arg)
{
    while (1) {
        pthread_mutex_lock(&lock);
        while (waiting == 0)
            pthread_cond_wait(&more, &lock);
        assert(waiting > 0 && waiting <= SLOTS);
        waiting--;
        int file = queue[waiting];
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&lock);
        // How often the pattern is in the file.
        int found = __VERIFIER_nondet_int();
        if (file >= 0 && found > 0) {
            pthread_mutex_lock(&sum);
            hits++;
            pthread_mutex_unlock(&sum);
        }
    }
    return arg;
}

int main(void)
{
    pthread_t w1, w2;
    pthread_create(&w1, 0, worker, 0);
    pthread_create(&w2, 0, worker, 0);
    while (1) {
        int file = __VERIFIER_nondet_int();
        pthread_mutex_lock(&lock);
        while (waiting == SLOTS)
            pthread_cond_wait(&room, &lock);
        queue[waiting] = file;
        waiting++;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
}

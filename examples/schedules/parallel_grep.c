// A parallel grep in the manner of pfscan: one thread hands out the numbers of files through a small queue, two others
// search them. Condition variables say that there is work, or room for more.
#include <assert.h>
#include <pthread.h>

#ifndef SLOTS
#define SLOTS 4
#endif
#ifndef FILES
#define FILES 8
#endif

int __VERIFIER_nondet_int(void);

static int queue[SLOTS];
static int first, waiting;
static int finished;
static int hits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t sum = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER;

// How often the pattern is in a file.
static int search(int file)
{
    int found = __VERIFIER_nondet_int();
    return file >= 0 && found > 0;
}

static void *worker(void *arg)
{
    while (1) {
        pthread_mutex_lock(&lock);
        while (waiting == 0 && !finished)
            pthread_cond_wait(&more, &lock);
        if (waiting == 0) {
            pthread_mutex_unlock(&lock);
            return arg;
        }
        assert(waiting > 0 && waiting <= SLOTS);
        int file = queue[first];
        first = (first + 1) % SLOTS;
        waiting--;
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&lock);
        if (search(file)) {
            pthread_mutex_lock(&sum);
            hits++;
            pthread_mutex_unlock(&sum);
        }
    }
}

int main(void)
{
    pthread_t w1, w2;
    pthread_create(&w1, 0, worker, 0);
    pthread_create(&w2, 0, worker, 0);
    for (int file = 0; file < FILES; file++) {
        pthread_mutex_lock(&lock);
        while (waiting == SLOTS)
            pthread_cond_wait(&room, &lock);
        queue[(first + waiting) % SLOTS] = file;
        waiting++;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    finished = 1;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    pthread_join(w1, 0);
    pthread_join(w2, 0);
    assert(waiting == 0);
    return 0;
}

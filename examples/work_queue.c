// A work queue between one producer and one consumer, with a bug.
//
// The producer pushes jobs and closes the queue; the consumer takes jobs until the queue is closed and empty.
// `closed` is atomic, so closing without the mutex looks safe; but the consumer may have found the queue open and not yet
// wait when the broadcast comes. Nobody wakes it afterwards. It takes a very unlucky schedule to see it happen.
//
//     selvedge check examples/work_queue.c
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define CAPACITY 2
#ifndef JOBS
#define JOBS 2
#endif

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    int jobs[CAPACITY];
    unsigned head, tail;
    atomic_bool closed;
};

static struct queue queue = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .not_empty = PTHREAD_COND_INITIALIZER,
    .not_full = PTHREAD_COND_INITIALIZER,
};

static void queue_push(struct queue *q, int job) {
    pthread_mutex_lock(&q->mutex);
    while (q->tail - q->head == CAPACITY)
        pthread_cond_wait(&q->not_full, &q->mutex);
    q->jobs[q->tail++ % CAPACITY] = job;
    pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->mutex);
}

static bool queue_pop(struct queue *q, int *job) {
    pthread_mutex_lock(&q->mutex);
    while (q->tail == q->head && !q->closed)
        pthread_cond_wait(&q->not_empty, &q->mutex);
    bool found = q->tail != q->head;
    if (found) {
        *job = q->jobs[q->head++ % CAPACITY];
        pthread_cond_signal(&q->not_full);
    }
    pthread_mutex_unlock(&q->mutex);
    return found;
}

static void queue_close(struct queue *q) {
    q->closed = true;
    pthread_cond_broadcast(&q->not_empty);
}

static void *producer(void *arg) {
    (void)arg;
    for (int job = 1; job <= JOBS; job++)
        queue_push(&queue, job);
    queue_close(&queue);
    return NULL;
}

static void *consumer(void *arg) {
    int job, *sum = arg;
    while (queue_pop(&queue, &job)) {
        printf("job %d\n", job);
        *sum += job;
    }
    return NULL;
}

int main(void) {
    int sum = 0;
    pthread_t p, c;
    pthread_create(&p, NULL, producer, NULL);
    pthread_create(&c, NULL, consumer, &sum);
    pthread_join(p, NULL);
    pthread_join(c, NULL);
    assert(sum == JOBS * (JOBS + 1) / 2);
    return 0;
}

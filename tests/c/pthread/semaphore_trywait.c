// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <errno.h>
#include <semaphore.h>

int main(void) {
    sem_t s;
    sem_init(&s, 0, 1);
    assert(sem_trywait(&s) == 0);
    assert(sem_trywait(&s) == -1 && errno == EAGAIN);
    assert(sem_post(&s) == 0);
    assert(sem_trywait(&s) == 0);
}

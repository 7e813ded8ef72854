// RUN: check
// EXPECT: violation data-race
// A pointer that is published by copying bytes.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static char box[sizeof(int *)];
static atomic_int full;

static void *worker(void *arg) {
    (void)arg;
    if (atomic_load(&full)) {
        int *p;
        memcpy(&p, box, sizeof p);
        *p = 2; // HERE
    }
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    int *mine = malloc(sizeof *mine);
    memcpy(box, &mine, sizeof mine);
    atomic_store(&full, 1);
    *mine = 1; // HERE
    pthread_join(t, 0);
    free(mine);
}

// RUN: check
// EXPECT: verified complete=1 blocked=1
// A thread that ends the process is joined by nobody: main does not go on behind it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int stop;
static int returned;

static void *quit(void *arg) {
    if (atomic_load(&stop) == 0)
        exit(0);
    returned = 1;
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, quit, 0);
    atomic_store(&stop, 1);
    pthread_join(thread, 0);
    assert(returned);
    return 0;
}

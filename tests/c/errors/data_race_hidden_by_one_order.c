// RUN: check
// EXPECT: violation data-race
// Ordered by the lock if the writer comes first, but not if the reader does: the flag is then not set yet.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, flag;

static void *writer(void *arg) {
    (void)arg;
    x = 1; // HERE
    pthread_mutex_lock(&m);
    flag = 1;
    pthread_mutex_unlock(&m);
    return 0;
}

static void *reader(void *arg) {
    (void)arg;
    pthread_mutex_lock(&m);
    int ready = flag;
    pthread_mutex_unlock(&m);
    if (!ready)
        x = 2; // HERE
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

// RUN: check
// EXPECT: verified
// A mutex inside an object that is freed after the last user has left it.
#include <pthread.h>
#include <stdlib.h>

struct counted {
    pthread_mutex_t m;
    int users;
};

static void *leave(void *arg) {
    struct counted *c = arg;
    pthread_mutex_lock(&c->m);
    int last = --c->users == 0;
    pthread_mutex_unlock(&c->m);
    if (last) {
        pthread_mutex_destroy(&c->m);
        free(c);
    }
    return 0;
}

int main(void) {
    pthread_t a, b;
    struct counted *c = malloc(sizeof *c);
    pthread_mutex_init(&c->m, 0);
    c->users = 2;
    pthread_create(&a, 0, leave, c);
    pthread_create(&b, 0, leave, c);
    pthread_join(a, 0);
    pthread_join(b, 0);
}

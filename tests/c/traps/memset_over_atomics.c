// RUN: check --model rc11
// EXPECT: verified complete=2 blocked=0
// Atomic fields are cleared by wide stores while nobody else uses them, and read as one word in the end.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static struct {
    atomic_int a, b;
    atomic_short c, d;
    char rest[3];
} s;

static void *idle(void *arg) {
    return arg;
}

static void *adder(void *arg) {
    atomic_fetch_add(&s.a, 1);
    atomic_store(&s.c, 2);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, idle, 0);
    memset(&s, 0, sizeof s);
    pthread_join(thread, 0);
    pthread_create(&thread, 0, adder, 0);
    atomic_fetch_add(&s.a, 1);
    pthread_join(thread, 0);
    unsigned long both;
    memcpy(&both, &s, sizeof both);
    assert(both == 2 && s.c == 2 && s.d == 0);
    return 0;
}

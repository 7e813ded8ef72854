// RUN: check
// EXPECT: verified complete=1 blocked=0
// Different bytes of the same word do not conflict.
#include <assert.h>
#include <pthread.h>

static struct {
    unsigned char a, b;
    unsigned short c;
} s;

static void *set_a(void *arg) {
    (void)arg;
    s.a = 1;
    return 0;
}

static void *set_b(void *arg) {
    (void)arg;
    s.b = 2;
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, set_a, 0);
    pthread_create(&u, 0, set_b, 0);
    s.c = 3;
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(s.a == 1 && s.b == 2 && s.c == 3);
}

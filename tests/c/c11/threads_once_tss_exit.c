// RUN: check
// EXPECT: verified
#include <assert.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int made, destroyed;

static void destroy(void *p) {
    (void)p;
    destroyed++;
}

static void make(void) {
    made++;
    tss_create(&key, destroy);
}

static int worker(void *arg) {
    call_once(&once, make);
    assert(tss_get(key) == 0);
    tss_set(key, arg);
    assert(tss_get(key) == arg);
    thrd_exit(9);
}

int main(void) {
    thrd_t t;
    int result;
    call_once(&once, make);
    thrd_create(&t, worker, &made);
    thrd_join(t, &result);
    assert(result == 9 && made == 1 && destroyed == 1);
    assert(thrd_equal(thrd_current(), thrd_current()));
    thrd_yield();
}

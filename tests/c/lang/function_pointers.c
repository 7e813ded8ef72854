// RUN: check
// EXPECT: verified complete=1 blocked=0
#include <assert.h>
#include <pthread.h>

static int add(int a, int b) {
    return a + b;
}

static int mul(int a, int b) {
    return a * b;
}

static int (*const table[])(int, int) = {add, mul};

struct ops {
    int (*op)(int, int);
    int result;
};

static void *worker(void *arg) {
    struct ops *ops = arg;
    ops->result = ops->op(6, 7);
    return 0;
}

int main(void) {
    struct ops ops[2] = {{table[0], 0}, {table[1], 0}};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, worker, &ops[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(ops[0].result == 13 && ops[1].result == 42);
    assert(ops[0].op == add && ops[0].op != ops[1].op);
}

// EXPECT purity: verified complete=1 blocked=1
// EXPECT await: verified complete=1 blocked=1
// What is waited for is compared with a member of a local struct, which is loaded last. Nobody else can change that member,
// but that is no reason to say that the thread spins forever: it is the other side that is going to change.
#include <pthread.h>
#include <stdatomic.h>

struct task {
    int slot, generation;
};

static struct task tasks[2] = {{0, 0}, {1, 1}};
static atomic_int generation[2];

static void *waiter(void *arg) {
    struct task task = tasks[1];
    while (atomic_load(&generation[task.slot]) != task.generation)
        ;
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    atomic_store(&generation[1], 1);
    pthread_join(t, 0);
}

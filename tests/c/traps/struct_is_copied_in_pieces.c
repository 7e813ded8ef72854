// RUN: check --model rc11
// EXPECT: verified complete=2 blocked=0
// A struct is cleared, copied, changed in one field and read in other pieces than it was written in.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct message {
    int number;
    char letter;
    short pair;
    long sum;
};

static struct message box;
static atomic_int ready;

static void *sender(void *arg) {
    struct message filled;
    memset(&filled, 0, sizeof filled);
    filled.number = 1;
    filled.letter = 2;
    filled.pair = 3;
    filled.sum = 4;
    memset(&box, 0xff, sizeof box);
    box = filled;
    box.pair = 7;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, sender, 0);
    if (atomic_load_explicit(&ready, memory_order_acquire)) {
        struct message copy = box;
        assert(copy.number == 1 && copy.letter == 2 && copy.pair == 7 && copy.sum == 4);
        assert(((unsigned char *)&box)[6] == 7);
    }
    pthread_join(thread, 0);
    return 0;
}

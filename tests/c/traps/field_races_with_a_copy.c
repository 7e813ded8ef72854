// RUN: check --model rc11
// EXPECT: violation data-race
// Only one field of the struct that is copied is written at the same time.
#include <pthread.h>

struct message {
    int number;
    char letter;
    short pair;
};

static struct message box;

static void *writer(void *arg) {
    box.letter = 1; // HERE
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    box.pair = 1;
    struct message copy = box; // HERE
    pthread_join(thread, 0);
    return copy.pair - 1;
}

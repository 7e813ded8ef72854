// RUN: check
// EXPECT: violation data-race
// printf reads the string that it prints.
#include <pthread.h>
#include <stdio.h>

static char text[4] = "abc";

static void *writer(void *arg) {
    (void)arg;
    text[0] = 'x'; // HERE
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    printf("%s\n", text); // HERE
    pthread_join(t, 0);
}

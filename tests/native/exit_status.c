// The status of main is the status of the program.
#include <stdio.h>
#include <stdlib.h>

static void work(int depth) {
    if (depth == 0) {
        printf("leaving\n");
        exit(41 + 1);
    }
    work(depth - 1);
}

int main(void) {
    work(5);
    return 0;
}

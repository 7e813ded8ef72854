// main with parameters: a name and nothing else.
#include <stdio.h>

int main(int argc, char **argv) {
    printf("%d %d %d\n", argc, argv[0] != NULL, argv[argc] == NULL);
    return argc;
}

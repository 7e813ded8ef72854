/* If the reader goes first, it finds nothing to read. Otherwise it finds what was freed. Whoever reads a pointer here may find
   a null pointer as far as the automaton knows, which is an error that no execution comes to. */
#include <pthread.h>
#include <stdlib.h>

struct pair {
    long a, b;
};
struct pair *late, *early;

static void *reader(void *unused) {
    if (late)
        late->a = 0;
    return unused;
}

static void *mover(void *unused) {
    late = early;
    struct pair *old = early;
    early = 0;
    if (old)
        free(old);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    early = calloc(1, sizeof *early);
    early->a = 1;
    early->b = 0;
    pthread_create(&threads[0], 0, mover, 0);
    pthread_create(&threads[1], 0, reader, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

// RUN: check --leaks
// EXPECT: verified complete=1 blocked=0
// malloc, calloc, realloc, aligned_alloc, posix_memalign, strdup, free.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    int *p = malloc(4 * sizeof *p);
    for (int i = 0; i < 4; i++)
        p[i] = i;
    p = realloc(p, 8 * sizeof *p);
    for (int i = 0; i < 4; i++)
        assert(p[i] == i);
    p[7] = 7;
    p = realloc(p, 2 * sizeof *p);
    assert(p[1] == 1);
    free(p);
    char *z = calloc(3, 5);
    for (int i = 0; i < 15; i++)
        assert(z[i] == 0);
    free(z);
    free(realloc(NULL, 10));
    void *a = aligned_alloc(64, 128);
    assert((uintptr_t)a % 64 == 0);
    free(a);
    void *b;
    assert(posix_memalign(&b, 32, 40) == 0 && (uintptr_t)b % 32 == 0);
    free(b);
    char *s = strdup("copy");
    assert(strcmp(s, "copy") == 0);
    free(s);
    free(NULL);
    free(malloc(0));
}

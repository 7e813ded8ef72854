// Flags, widths, precisions and length modifiers for integers.
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

int main(void) {
    int values[] = {0, 1, -1, 42, -12345, 2147483647, -2147483647 - 1};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        int v = values[i];
        printf("[%d] [%i] [%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%8.4d] [%-8.4d]\n", v, v, v, v, v, v, v, v, v, v);
        printf("[%u] [%x] [%X] [%o] [%#x] [%#o] [%08x] [%-8x] [%.5x]\n", (unsigned)v, (unsigned)v, (unsigned)v,
               (unsigned)v, (unsigned)v, (unsigned)v, (unsigned)v, (unsigned)v, (unsigned)v);
        printf("[%hhd] [%hd] [%ld] [%lld] [%jd] [%zd] [%td]\n", (signed char)v, (short)v, (long)v, (long long)v,
               (intmax_t)v, (ssize_t)v, (ptrdiff_t)v);
        printf("[%hhu] [%hu] [%lu] [%llx] [%zu]\n", (unsigned char)v, (unsigned short)v, (unsigned long)v,
               (unsigned long long)v, (size_t)v);
        printf("[%*d] [%-*d] [%.*d] [%*.*d]\n", 7, v, 7, v, 4, v, 9, 3, v);
    }
    printf("[%" PRId64 "] [%" PRIu32 "] [%" PRIx16 "]\n", (int64_t)-5, (uint32_t)6, (uint16_t)0xabc);
    printf("[%.0d] [%+.0d] [%c%c] [%5c] [%-5c] %%\n", 0, 0, 'a', 66, 'c', 'd');
    return 0;
}

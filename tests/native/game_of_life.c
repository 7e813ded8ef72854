// Two-dimensional bytes, modulo indices.
#include <stdio.h>
#include <string.h>

enum { W = 20, H = 10 };

static unsigned char grid[H][W], next[H][W];

static int neighbours(int y, int x) {
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dy || dx)
                n += grid[(y + dy + H) % H][(x + dx + W) % W];
    return n;
}

int main(void) {
    static const char start[] = " #  #  #### #     #  ##  # #  ###  #  ## # # ##   ";
    for (int i = 0; start[i]; i++)
        grid[i * 7 % H][i * 3 % W] = start[i] == '#';
    for (int round = 0; round < 12; round++) {
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int n = neighbours(y, x);
                next[y][x] = n == 3 || (n == 2 && grid[y][x]);
            }
        memcpy(grid, next, sizeof grid);
    }
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++)
            putchar(grid[y][x] ? '#' : '.');
        putchar('\n');
    }
    return 0;
}

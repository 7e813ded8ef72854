/* filesystem(N): N threads allocate a block for their inode; locks protect inodes and blocks.
 *
 * Threads t and t+13 start their search at the same block: 2^(N-13) traces, and one for N <= 13.
 * (Flanagan and Godefroid, Dynamic Partial-Order Reduction, POPL 2005.) */
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 14
#endif

enum { BLOCKS = 26, INODES = 32 };

static pthread_mutex_t lock_inode[INODES], lock_block[BLOCKS];
static int inode[INODES], busy[BLOCKS];

static void *allocate(void *arg) {
    int i = (int)(intptr_t)arg % INODES;
    pthread_mutex_lock(&lock_inode[i]);
    if (inode[i] == 0) {
        int b = (i * 2) % BLOCKS;
        for (;;) {
            pthread_mutex_lock(&lock_block[b]);
            if (!busy[b]) {
                busy[b] = 1;
                inode[i] = b + 1;
                pthread_mutex_unlock(&lock_block[b]);
                break;
            }
            pthread_mutex_unlock(&lock_block[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&lock_inode[i]);
    return NULL;
}

int main(void) {
    pthread_t t[N];
    for (int i = 0; i < INODES; i++)
        pthread_mutex_init(&lock_inode[i], NULL);
    for (int i = 0; i < BLOCKS; i++)
        pthread_mutex_init(&lock_block[i], NULL);
    for (intptr_t i = 0; i < N; i++)
        pthread_create(&t[i], NULL, allocate, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}

/* A bank account: D deposits and W withdrawals under a lock, and a check that the balance is right once all are done.
 *
 * With -DBUG the balance is read under the lock but written back under it only later: an update is lost. */
#include <assert.h>
#include <pthread.h>

#ifndef D
#define D 1
#endif
#ifndef W
#define W 1
#endif

enum { START = 100, IN = 20, OUT = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = START, deposits, withdrawals;

static void change(int amount, int *done) {
    pthread_mutex_lock(&lock);
    int now = balance;
#ifdef BUG
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    balance = now + amount;
    ++*done;
    pthread_mutex_unlock(&lock);
}

static void *deposit(void *arg) {
    (void)arg;
    change(IN, &deposits);
    return NULL;
}

static void *withdraw(void *arg) {
    (void)arg;
    change(-OUT, &withdrawals);
    return NULL;
}

static void *check(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (deposits == D && withdrawals == W)
        assert(balance == START + D * IN - W * OUT);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t t[D + W + 1];
    int n = 0;
    for (int i = 0; i < D; i++)
        pthread_create(&t[n++], NULL, deposit, NULL);
    for (int i = 0; i < W; i++)
        pthread_create(&t[n++], NULL, withdraw, NULL);
    pthread_create(&t[n++], NULL, check, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    return 0;
}

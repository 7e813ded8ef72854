/* A stack of three cells that hold the numbers of the next ones, and its harnesses: each digit of OPS is a thread, and how
 * many operations it makes: pop, push, pop, push.
 *
 * To pop, a thread takes the number out of the cell at the head, so that others cannot, and then moves the head on. Yet
 * a cell can be popped and pushed again in between. The shortest harness in which two threads come to own one cell, at
 * least five switches between them, is OPS=331. Numbers do not suffice to pop the last cell: with OPS=311 somebody always
 * spins for ever. (D. Vyukov's SafeStack, posted to the CHESS forum in 2010; Jonsson, Lång, Sagonas, Awaiting for Godot,
 * FMCAD 2022, Table II.) With -DUNCHECKED nobody looks whether a cell has two owners. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef OPS
#define OPS 21
#endif
#define CELLS 3
#define THREADS (OPS < 10 ? 1 : OPS < 100 ? 2 : 3)

struct cell {
    atomic_int owner, next;
};

static struct cell cells[CELLS] = {{0, 1}, {0, 2}, {0, -1}};
static atomic_int head = 0, count = CELLS;

static int pop(void) {
    while (atomic_load(&count) > 1) {
        int first = atomic_load(&head);
        int next = atomic_exchange(&cells[first].next, -1);
        if (next >= 0) {
            int expected = first;
            if (atomic_compare_exchange_strong(&head, &expected, next)) {
                atomic_fetch_sub(&count, 1);
                return first;
            }
            atomic_exchange(&cells[first].next, next);
        }
    }
    return -1;
}

static void push(int cell) {
    int first = atomic_load(&head);
    do {
        atomic_store(&cells[cell].next, first);
    } while (!atomic_compare_exchange_strong(&head, &first, cell));
    atomic_fetch_add(&count, 1);
}

static void *worker(void *arg) {
    int me = (int)(intptr_t)arg / 10, operations = (int)(intptr_t)arg % 10, cell = -1;
    for (int i = 0; i < operations; i++) {
        if (i % 2 == 1) {
            push(cell);
            continue;
        }
        do
            cell = pop();
        while (cell < 0);
#ifndef UNCHECKED
        atomic_store(&cells[cell].owner, me);
        assert(atomic_load(&cells[cell].owner) == me);
#endif
    }
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    int place = THREADS == 3 ? 100 : THREADS == 2 ? 10 : 1;
    for (intptr_t i = 0; i < THREADS; i++, place /= 10)
        pthread_create(&t[i], NULL, worker, (void *)(10 * (i + 1) + OPS / place % 10));
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return 0;
}

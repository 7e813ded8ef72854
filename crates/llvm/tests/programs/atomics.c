// C11 atomics, GNU atomics and the old __sync builtins, in all widths and orders.
#include <stdatomic.h>
#include <stdint.h>

struct big { long a[4]; };
struct eight { int a, b; };
_Atomic(char) c;
_Atomic(short) s;
_Atomic(int) i;
_Atomic(long) l;
_Atomic(void *) p;
_Atomic(double) d;
_Atomic(_Bool) b;
_Atomic(struct eight) e;
_Atomic(struct big) g;
atomic_flag flag = ATOMIC_FLAG_INIT;
int plain;
unsigned long word;

int use(int order) {
    int expected = 3, result = 0;
    c++;
    s += 2;
    i ^= 5;
    l = l * 3;
    d += 1.5;
    b = !b;
    struct eight x = e, y = {1, 2};
    atomic_compare_exchange_strong(&e, &x, y);
    struct big z = g;
    g = z;
    atomic_store_explicit(&i, 1, memory_order_release);
    result += atomic_load_explicit(&i, memory_order_acquire);
    result += atomic_load_explicit(&i, memory_order_consume);
    result += atomic_exchange_explicit(&i, 4, memory_order_acq_rel);
    result += atomic_fetch_sub(&i, 1) + atomic_fetch_or(&i, 8) + atomic_fetch_and(&i, 7);
    result += atomic_compare_exchange_weak_explicit(&i, &expected, 9, memory_order_acq_rel, memory_order_relaxed);
    result += atomic_compare_exchange_strong_explicit(&i, &expected, 9, order, memory_order_relaxed);
    result += atomic_load_explicit(&i, order);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_thread_fence(memory_order_acquire);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store(&p, &plain);
    result += atomic_flag_test_and_set(&flag);
    atomic_flag_clear_explicit(&flag, memory_order_release);
    result += __sync_fetch_and_add(&plain, 1) + __sync_add_and_fetch(&plain, 2) + __sync_fetch_and_nand(&plain, 3);
    result += __sync_bool_compare_and_swap(&plain, 1, 2) + __sync_val_compare_and_swap(&plain, 2, 3);
    result += __sync_lock_test_and_set(&plain, 1) + __sync_fetch_and_max(&plain, 7) + __sync_fetch_and_umin(&word, 7u);
    __sync_lock_release(&plain);
    __sync_synchronize();
    result += __atomic_load_n(&plain, __ATOMIC_RELAXED) + __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&word, 5, __ATOMIC_RELEASE);
    int old;
    __atomic_exchange(&plain, &expected, &old, __ATOMIC_ACQUIRE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return result + old + x.a + (int)z.a[1];
}

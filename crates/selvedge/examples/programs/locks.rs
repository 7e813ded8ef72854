//! Spin locks, and programs that use `Mutex` and `Condvar`; all of them are right.

use super::{threads, zeros};
use crate::library::cell::UnsafeCell;
use crate::library::hint;
use crate::library::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::library::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use crate::library::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::ptr;

/// Three threads write a variable of their own and read those of the others, in turn.
pub fn accesses(rounds: usize) {
    struct Shared([AtomicUsize; 3], usize);
    threads(3, Shared(zeros(), rounds), |n, Shared(x, rounds)| {
        for round in 0..*rounds {
            x[n].store(round + 1, Relaxed);
            x[(n + 1 + round % 2) % 3].load(Relaxed);
        }
    });
}

/// Three threads count under a lock, twice each.
pub fn mutex_counter() {
    let counter = threads(3, Mutex::new(0), |_, counter| {
        *counter.lock().unwrap() += 1;
        *counter.lock().unwrap() += 1;
    });
    assert_eq!(*counter.lock().unwrap(), 6);
}

/// A counter that whoever holds the lock may access; races would be found.
struct Counter(UnsafeCell<usize>);

// SAFETY: only who holds the lock accesses it.
unsafe impl Send for Counter {}
// SAFETY: as above.
unsafe impl Sync for Counter {}

impl Counter {
    fn new() -> Counter {
        Counter(UnsafeCell::new(0))
    }

    fn increment(&self) {
        // SAFETY: the caller holds the lock.
        self.0.with_mut(|count| unsafe { *count += 1 });
    }

    fn check(&self, expected: usize) {
        // SAFETY: all others have ended.
        assert_eq!(self.0.with(|count| unsafe { *count }), expected);
    }
}

/// Tries to take a lock.
pub type TryLock = fn(&AtomicBool) -> bool;

/// By an exchange: test-and-set.
pub fn by_swap(locked: &AtomicBool) -> bool {
    !locked.swap(true, Acquire)
}

/// By a compare-and-exchange.
pub fn by_exchange(locked: &AtomicBool) -> bool {
    locked.compare_exchange(false, true, Acquire, Relaxed).is_ok()
}

/// Threads take a spin lock, once each.
pub fn spin_lock(count: usize, try_lock: TryLock) {
    struct Shared(AtomicBool, Counter, TryLock);
    let shared = threads(count, Shared(AtomicBool::new(false), Counter::new(), try_lock), |_, shared| {
        let Shared(locked, counter, try_lock) = shared;
        while !try_lock(locked) {
            hint::spin_loop();
        }
        counter.increment();
        locked.store(false, Release);
    });
    shared.1.check(count);
}

/// Threads draw a ticket each, and are served in the order of their tickets.
pub fn ticket_lock(count: usize) {
    let shared = threads(count, (zeros::<2>(), Counter::new()), |_, ([next, serving], counter)| {
        let ticket = next.fetch_add(1, Relaxed);
        while serving.load(Acquire) != ticket {
            hint::spin_loop();
        }
        counter.increment();
        serving.store(ticket + 1, Release);
    });
    shared.1.check(count);
}

/// A thread that waits for an MCS lock.
struct Waiter {
    next: AtomicPtr<Waiter>,
    waits: AtomicBool,
}

/// Threads form a queue; everybody waits for a flag of its own (Mellor-Crummey and Scott, TOCS 1991).
pub fn mcs_lock(count: usize) {
    struct Shared(AtomicPtr<Waiter>, Counter);
    let shared = threads(count, Shared(AtomicPtr::new(ptr::null_mut()), Counter::new()), |_, Shared(tail, counter)| {
        let waiter = Waiter { next: AtomicPtr::new(ptr::null_mut()), waits: AtomicBool::new(true) };
        let me = Box::into_raw(Box::new(waiter));
        // SAFETY: waiters are not freed.
        unsafe {
            let before = tail.swap(me, AcqRel);
            if !before.is_null() {
                (*before).next.store(me, Release);
                while (*me).waits.load(Acquire) {
                    hint::spin_loop();
                }
            }
            counter.increment();
            if tail.compare_exchange(me, ptr::null_mut(), Release, Relaxed).is_err() {
                let mut next = (*me).next.load(Acquire);
                while next.is_null() {
                    hint::spin_loop();
                    next = (*me).next.load(Acquire);
                }
                (*next).waits.store(false, Release);
            }
        }
    });
    shared.1.check(count);
}

/// One thread puts items into a queue that has room for one, another one takes them out.
pub fn bounded_queue(items: usize) {
    type Shared = (Mutex<VecDeque<usize>>, Condvar, usize);
    let shared: Shared = (Mutex::new(VecDeque::new()), Condvar::new(), items);
    threads(2, shared, |n, (queue, changed, count)| {
        for round in 0..*count {
            let mut items = queue.lock().unwrap();
            while items.len() == 1 - n {
                items = changed.wait(items).unwrap();
            }
            if n == 0 {
                items.push_back(round);
            } else {
                assert_eq!(items.pop_front(), Some(round));
            }
            drop(items);
            changed.notify_one();
        }
    });
}

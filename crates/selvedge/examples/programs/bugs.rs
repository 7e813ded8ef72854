//! Programs that go wrong in some executions only.

use super::threads;
use crate::library::cell::UnsafeCell;
use crate::library::sync::atomic::Ordering::{Relaxed, Release};
use crate::library::sync::atomic::{AtomicBool, AtomicUsize};
use crate::library::sync::{Condvar, Mutex};

/// A value that threads share, and that the last one disposes of. Whoever decrements the count last must have seen what
/// the others did before they decremented it; with a relaxed decrement it need not.
struct Counted {
    count: AtomicUsize,
    value: UnsafeCell<usize>,
}

// SAFETY: it is not safe; the model is there to find that out.
unsafe impl Send for Counted {}
// SAFETY: as above.
unsafe impl Sync for Counted {}

/// Two threads read a shared value and let go of it.
pub fn relaxed_arc() {
    let shared = Counted { count: AtomicUsize::new(2), value: UnsafeCell::new(7) };
    threads(2, shared, |_, shared| {
        // SAFETY: as above.
        shared.value.with(|value| unsafe { assert_eq!(*value, 7) });
        if shared.count.fetch_sub(1, Relaxed) == 1 {
            // SAFETY: as above. This is where the value would be dropped.
            shared.value.with_mut(|value| unsafe { *value = 0 });
        }
    });
}

struct Lazy {
    ready: AtomicBool,
    lock: Mutex<()>,
    value: UnsafeCell<usize>,
}

// SAFETY: it is not safe; the model is there to find that out.
unsafe impl Send for Lazy {}
// SAFETY: as above.
unsafe impl Sync for Lazy {}

/// Whoever finds the flag set without having taken the lock has not synchronised with who has set it.
pub fn double_checked() {
    let shared = Lazy { ready: AtomicBool::new(false), lock: Mutex::new(()), value: UnsafeCell::new(0) };
    threads(2, shared, |_, shared| {
        if !shared.ready.load(Relaxed) {
            let _guard = shared.lock.lock().unwrap();
            if !shared.ready.load(Relaxed) {
                // SAFETY: as above.
                shared.value.with_mut(|value| unsafe { *value = 1 });
                shared.ready.store(true, Release);
            }
        }
        // SAFETY: as above.
        shared.value.with(|value| unsafe { assert_eq!(*value, 1) });
    });
}

/// Two threads take two locks in opposite order.
pub fn crossed_locks() {
    threads(2, [Mutex::new(()), Mutex::new(())], |n, locks| {
        let _first = locks[n].lock().unwrap();
        let _second = locks[1 - n].lock().unwrap();
    });
}

/// The flag is tested before the lock is taken: it may be set, and its waiter notified, in between.
pub fn lost_wake_up() {
    struct Shared(AtomicBool, Mutex<()>, Condvar);
    threads(2, Shared(AtomicBool::new(false), Mutex::new(()), Condvar::new()), |n, Shared(flag, lock, changed)| {
        if n == 0 {
            flag.store(true, Release);
            changed.notify_one();
        } else if !flag.load(Relaxed) {
            let guard = lock.lock().unwrap();
            drop(changed.wait(guard).unwrap());
        }
    });
}

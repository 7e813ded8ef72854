//! Explorations beside which somebody else changes memory, for tests.
//!
//! What a thread may have changed outside of the model while it was tried out is looked at (`machine/outside.rs`), and somebody
//! else may have changed it: another test, on another thread of the operating system. Then the thread is not put back, and all is
//! run again; but what is found out must be the same. So it is let happen once, at every moment at which it could.

use crate::interrupted::{Left, at_every_moment};
use crate::model::Builder;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{Arc, Mutex};
use crate::{hint, thread};

thread_local! {
    /// When memory has changed.
    static LEFT: Left = const { Left::new() };
}

/// A moment at which memory may have changed; whether it has.
pub(crate) fn is_now() -> bool {
    LEFT.with(Left::is_now)
}

/// How many executions a model has if memory has changed at some moment (0: at none), and what is said of it; none if it has
/// ended before.
fn explore(moment: u32, model: fn()) -> Option<(u64, u64, Vec<String>)> {
    LEFT.with(|left| left.set(moment));
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(model);
    assert_eq!((stats.failure, stats.not_covered), (None, Vec::<String>::new()), "{moment}");
    let is_over = LEFT.with(Left::is_over);
    LEFT.with(|left| left.set(0));
    is_over.then_some((stats.complete, stats.blocked, stats.notes))
}

/// Compares what is found whenever memory has changed with what is found otherwise. At how many moments it could.
fn check(model: fn()) -> u32 {
    at_every_moment(|moment| explore(moment, model)).1
}

fn words() -> Arc<[AtomicUsize; 2]> {
    Arc::new([const { AtomicUsize::new(0) }; 2])
}

/// Waits while there is something in a word, with a look of its own before the loop.
fn take(word: &AtomicUsize) -> usize {
    let mut looks = 0;
    loop {
        let found = word.load(Relaxed);
        if found == 0 && word.swap(1, AcqRel) == 0 {
            return std::hint::black_box(looks & 1);
        }
        // It is left on the stack, and makes no difference.
        looks = 2 * found;
        hint::spin_loop();
    }
}

#[test]
fn looks_that_come_back_in_another_state() {
    let moments = check(|| {
        let x = words();
        let handles = [0; 2].map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                take(&x[0]);
                x[0].store(0, Release);
            })
        });
        take(&x[0]);
        x[0].store(0, Release);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert!(moments > 10, "{moments}");
}

#[test]
fn exchanges_that_are_tried_again() {
    let moments = check(|| {
        let x = words();
        let add = |x: &[AtomicUsize; 2]| loop {
            let old = x[0].load(Relaxed);
            if x[0].compare_exchange(old, old + 1 + x[1].load(Acquire), AcqRel, Relaxed).is_ok() {
                return;
            }
        };
        let handles = [0; 2].map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || add(&x))
        });
        x[1].store(1, Release);
        add(&x);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert!(moments > 10, "{moments}");
}

#[test]
fn locks_that_are_tried() {
    let moments = check(|| {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let add = |shared: &(Mutex<usize>, AtomicUsize)| loop {
            if let Ok(mut guard) = shared.0.try_lock() {
                *guard += 1;
                return shared.1.fetch_update(AcqRel, Relaxed, |old| (old < 3).then_some(old + 1)).is_ok();
            }
            thread::yield_now();
        };
        let handles = [0; 2].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || add(&shared))
        });
        assert!(add(&shared));
        assert!(handles.into_iter().all(|handle| handle.join().unwrap()));
        assert_eq!((*shared.0.lock().unwrap(), shared.1.load(Relaxed)), (3, 3));
    });
    // There are one or two, depending on what compilers leave on the stack.
    assert!(moments > 0, "{moments}");
}

/// What comes behind a store to an object of its own is asked if values come back.
#[test]
fn stores_on_the_way_to_an_exchange() {
    let moments = check(|| {
        let x = words();
        let flip = |x: &[AtomicUsize; 2]| {
            let own = Box::new(AtomicUsize::new(0));
            loop {
                let old = x[0].load(Relaxed);
                own.store(old, Relaxed);
                if x[0].compare_exchange(old, old ^ 1, AcqRel, Relaxed).is_ok() {
                    return;
                }
            }
        };
        let handles = [0; 2].map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || flip(&x))
        });
        flip(&x);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert!(moments > 10, "{moments}");
}

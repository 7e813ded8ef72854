//! Explorations that have to start again at any moment, for tests.
//!
//! What is learned of loops is learned while they are run and tried out, and as soon as something is, everything starts again.
//! Nothing may come of what was broken off: nobody goes on from there, and what was to be tried out then has to be tried out
//! later. So explorations are broken off at every moment at which one could be, and what they find after that must be what
//! there is to be found.

use crate::model::{Builder, is_tried_out};
use crate::sync::Arc;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::{hint, thread};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Mutex;

thread_local! {
    /// At the how manieth moment from now on everything starts again; 0 if it does not, or has done so.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// A moment at which everything may have to start again; whether it has to.
pub(crate) fn is_now() -> bool {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    left == 1
}

type Outcomes = BTreeSet<Vec<usize>>;

/// What a model comes to after everything has started again at some moment (0: at none); none if it has ended before.
fn explore(moment: u32, model: fn() -> Vec<usize>) -> Option<Outcomes> {
    LEFT.set(moment);
    let found: std::sync::Arc<Mutex<Outcomes>> = std::sync::Arc::default();
    let noted = std::sync::Arc::clone(&found);
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(move || {
        let outcome = model();
        if !is_tried_out() && LEFT.get() == 0 {
            noted.lock().unwrap().insert(outcome);
        }
    });
    assert_eq!((stats.failure, stats.not_covered), (None, Vec::<String>::new()), "{moment}");
    (LEFT.replace(0) == 0).then(|| std::mem::take(&mut *found.lock().unwrap()))
}

/// Compares what is found whenever everything starts again with what is found otherwise. At how many moments it could.
fn check(model: fn() -> Vec<usize>) -> u32 {
    let expected = explore(0, model).unwrap();
    assert!(expected.len() > 1, "{expected:?}");
    let mut moment = 1;
    while let Some(found) = explore(moment, model) {
        assert_eq!(found, expected, "everything starts again at moment {moment}");
        moment += 1 + moment / 32;
    }
    moment
}

fn words() -> Arc<[AtomicUsize; 3]> {
    Arc::new([const { AtomicUsize::new(0) }; 3])
}

/// Exchanges a word for something else, looking at another one; it spins when that has failed. What it has found in both.
fn exchange(word: &AtomicUsize, other: &AtomicUsize, order: Ordering, new: fn(usize) -> usize) -> usize {
    let mut old = word.load(order);
    loop {
        let seen = other.load(Acquire);
        if word.compare_exchange(old, new(old), AcqRel, Acquire).is_ok() {
            return old + 10 * seen;
        }
        hint::spin_loop();
        old = word.load(order);
    }
}

#[test]
fn loops_that_try_again_and_say_so() {
    let moments = check(|| {
        let x = words();
        let y = Arc::clone(&x);
        let other = thread::spawn(move || exchange(&y[0], &y[1], SeqCst, |old| old + 1));
        let z = Arc::clone(&x);
        let third = thread::spawn(move || exchange(&z[0], &z[1], SeqCst, |old| old * 2));
        let own = x[0].fetch_update(Acquire, Relaxed, |old| Some(old + 2)).unwrap();
        x[1].store(1, Release);
        vec![own, other.join().unwrap(), third.join().unwrap(), x[0].load(Relaxed)]
    });
    assert!(moments > 10, "{moments}");
}

/// Exchanges a word; after so many attempts that have failed it gives up.
fn exchange_at_most(most: usize, word: &AtomicUsize) -> usize {
    for attempt in 0..most {
        let old = word.load(Relaxed);
        if word.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
            return attempt;
        }
        hint::spin_loop();
    }
    most
}

#[test]
fn loops_that_end_after_they_have_spun() {
    let moments = check(|| {
        let x = words();
        let handles = [1, 2].map(|most| {
            let x = Arc::clone(&x);
            thread::spawn(move || exchange_at_most(most, &x[0]))
        });
        x[0].store(5, Release);
        let mut outcome: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        outcome.push(x[0].load(Relaxed));
        outcome
    });
    assert!(moments > 10, "{moments}");
}

/// Takes one away if there is something.
fn pop(word: &AtomicUsize, other: &AtomicUsize) -> usize {
    loop {
        let old = word.load(Acquire);
        if old == 0 {
            return 7;
        }
        let seen = other.load(Acquire);
        if word.compare_exchange(old, old - 1, AcqRel, Relaxed).is_ok() {
            return old + 10 * seen;
        }
    }
}

#[test]
fn loops_that_are_left_without_an_exchange() {
    let moments = check(|| {
        let x = words();
        let handles = [0; 2].map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || pop(&x[0], &x[1]))
        });
        x[0].store(2, Release);
        x[1].store(1, Release);
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(moments > 10, "{moments}");
}

/// Waits until there is at least so much in a word, deep down.
#[inline(never)]
fn wait(word: &AtomicUsize, until: usize, depth: usize) -> usize {
    if depth > 0 {
        return std::hint::black_box(wait(word, until, depth - 1));
    }
    loop {
        let found = word.load(Acquire);
        if found >= until {
            return found;
        }
        hint::spin_loop();
    }
}

#[test]
fn loops_that_wait() {
    let moments = check(|| {
        let x = words();
        let handles = [(1, 0), (2, 9)].map(|(until, depth)| {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                let found = wait(&x[0], until, depth);
                x[1].store(until, Relaxed);
                found
            })
        });
        (1..=3).for_each(|n| x[0].store(n, Release));
        let seen = x[1].load(Relaxed);
        let mut outcome: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        outcome.push(seen);
        outcome
    });
    assert!(moments > 5, "{moments}");
}

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
use std::fmt::Debug;
use std::sync::Mutex;

/// At the how manieth moment from now on something happens; 0 if it does not, or has happened.
pub(crate) struct Left(Cell<u32>);

impl Left {
    /// Nothing happens.
    pub const fn new() -> Left {
        Left(Cell::new(0))
    }

    /// A moment at which it could happen; whether it does.
    pub fn is_now(&self) -> bool {
        self.0.replace(self.0.get().saturating_sub(1)) == 1
    }

    /// From now on it happens at that moment.
    pub fn set(&self, moment: u32) {
        self.0.set(moment);
    }

    /// Whether it has happened, or does not.
    pub fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}

/// Compares what is found if something happens at some moment, for every moment at which it could, with what is found if it does
/// not (moment 0). That is none if all has ended before. What is found, and at how many moments something could have happened.
pub(crate) fn at_every_moment<T: PartialEq + Debug>(found: impl Fn(u32) -> Option<T>) -> (T, u32) {
    let expected = found(0).expect("it happens at no moment");
    let mut moment = 1;
    while let Some(found) = found(moment) {
        assert_eq!(found, expected, "it happens at moment {moment}");
        moment += 1 + moment / 32;
    }
    (expected, moment)
}

thread_local! {
    /// When everything starts again.
    static LEFT: Left = const { Left::new() };
}

/// A moment at which everything may have to start again; whether it has to.
pub(crate) fn is_now() -> bool {
    LEFT.with(Left::is_now)
}

type Outcomes = BTreeSet<Vec<usize>>;

/// What a model comes to after everything has started again at some moment (0: at none); none if it has ended before.
fn explore(moment: u32, model: fn() -> Vec<usize>) -> Option<Outcomes> {
    LEFT.with(|left| left.set(moment));
    let found: std::sync::Arc<Mutex<Outcomes>> = std::sync::Arc::default();
    let noted = std::sync::Arc::clone(&found);
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(move || {
        let outcome = model();
        if !is_tried_out() && LEFT.with(Left::is_over) {
            noted.lock().unwrap().insert(outcome);
        }
    });
    assert_eq!((stats.failure, stats.not_covered), (None, Vec::<String>::new()), "{moment}");
    let is_over = LEFT.with(Left::is_over);
    LEFT.with(|left| left.set(0));
    is_over.then(|| std::mem::take(&mut *found.lock().unwrap()))
}

/// Compares what is found whenever everything starts again with what is found otherwise. At how many moments it could.
fn check(model: fn() -> Vec<usize>) -> u32 {
    let (expected, moments) = at_every_moment(|moment| explore(moment, model));
    assert!(expected.len() > 1, "{expected:?}");
    moments
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

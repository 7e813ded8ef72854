//! What attempts that fail leave to others, or tell their own thread, if orders are weak: nothing of it may be lost where they are
//! not explored. The outcomes are those of attempts one by one.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, is_tried_out};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use selvedge::thread;
use std::collections::BTreeSet;
use std::sync::Mutex;

type Outcomes = BTreeSet<[usize; 3]>;

/// What executions end with, or the kind of the failure.
fn explore(
    one_by_one: bool,
    bound: Option<usize>,
    model: impl Fn() -> [usize; 3] + Send + Sync + 'static,
) -> Result<Outcomes, String> {
    let outcomes = std::sync::Arc::new(Mutex::new(Outcomes::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.attempts_one_by_one = one_by_one;
    (builder.preemption_bound, builder.bound_after) = (bound, 0);
    let stats = builder.explore(move || {
        let outcome = model();
        if !is_tried_out() {
            noted.lock().unwrap().insert(outcome);
        }
    });
    match stats.failure {
        Some(failure) => Err(failure.split(':').next().unwrap_or_default().to_owned()),
        None => Ok(std::mem::take(&mut outcomes.lock().unwrap())),
    }
}

/// The same, whether or not attempts that fail are explored.
fn explore_all(what: &str, model: impl Fn() -> [usize; 3] + Send + Sync + Clone + 'static) -> Result<Outcomes, String> {
    let all = explore(true, None, model.clone());
    for bound in [None, Some(40)] {
        assert_eq!(explore(false, bound, model.clone()), all, "{what}, bound {bound:?}");
    }
    all
}

/// An object of a thread's own that others know of, and in which attempts leave something.
#[derive(Clone, Copy)]
struct Kept {
    load: Ordering,
    set: Ordering,
    look: Ordering,
    look_at_own: Ordering,
}

fn kept_back(orders: Kept) -> [usize; 3] {
    let shared = Arc::new((AtomicUsize::new(1), AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>())));
    let other = Arc::clone(&shared);
    let handle = thread::spawn(move || {
        let own = Box::into_raw(Box::new(AtomicUsize::new(0)));
        other.1.store(own, Release);
        loop {
            let old = other.0.load(orders.load);
            unsafe { (*own).store(old + 5, Relaxed) };
            if other.0.compare_exchange(old, old + 1, orders.set, Relaxed).is_ok() {
                return old;
            }
        }
    });
    let before = shared.0.swap(0, Relaxed);
    let found = shared.0.load(orders.look);
    let own = shared.1.load(Acquire);
    let seen = if found == 1 && !own.is_null() { unsafe { (*own).load(orders.look_at_own) } } else { 99 };
    handle.join().unwrap();
    [before, found, seen]
}

#[test]
fn who_does_not_synchronise_with_an_exchange_sees_what_attempts_before_it_have_stored() {
    let mut with_stale = 0;
    for load in [Relaxed, Acquire] {
        for set in [Relaxed, Release, AcqRel, SeqCst] {
            for look in [Relaxed, Acquire] {
                let orders = Kept { load, set, look, look_at_own: Relaxed };
                let found = explore_all(&format!("{load:?} {set:?} {look:?}"), move || kept_back(orders)).unwrap();
                let synchronises = set != Relaxed && look == Acquire;
                let stale = found.contains(&[1, 1, 6]);
                assert_eq!(stale, !synchronises, "{load:?} {set:?} {look:?}: {found:?}");
                with_stale += u32::from(stale);
            }
        }
    }
    assert_eq!(with_stale, 10);
}

/// Goes on with what the exchange has found.
#[inline(never)]
fn up(word: &AtomicUsize, load: Ordering, fail: Ordering) -> usize {
    let mut old = word.load(load);
    while old < 10 {
        match word.compare_exchange(old, old + 1, AcqRel, fail) {
            Ok(_) => return old,
            Err(now) => old = now,
        }
    }
    old
}

/// Tries once, and returns what the exchange has found.
#[inline(never)]
fn set(word: &AtomicUsize, load: Ordering, fail: Ordering) -> usize {
    let old = word.load(load);
    if old != 0 {
        return old;
    }
    match word.compare_exchange(old, 1, AcqRel, fail) {
        Ok(_) => 0,
        Err(now) => now,
    }
}

/// Words that threads exchange, and what is published with one of them.
struct Published {
    words: [AtomicUsize; 3],
    cell: UnsafeCell<usize>,
}

// SAFETY: races are found.
unsafe impl Sync for Published {}

type Attempt = fn(&AtomicUsize, Ordering, Ordering) -> usize;

/// One thread writes to a cell and publishes that; the other one may find it with a failed exchange that does not acquire.
fn published(attempt: Attempt, (load, fail): (Ordering, Ordering), calls: usize, reader_is_main: bool) -> [usize; 3] {
    // Counted by `std`, so that nobody but these two has anything to do with the words.
    let shared = std::sync::Arc::new(Published { words: [const { AtomicUsize::new(0) }; 3], cell: UnsafeCell::new(0) });
    // The same places, with other orders.
    let elsewhere =
        move |words: &[AtomicUsize; 3]| (0..calls).fold(0, |all, _| 20 * all + attempt(&words[1], Relaxed, Relaxed));
    let reads = move |shared: &Published| {
        let found = attempt(&shared.words[0], load, fail);
        let mut seen = 0;
        if found == 10 {
            // Something is done before the race.
            seen = shared.words[2].load(Relaxed);
            shared.cell.with(|cell| unsafe { seen += *cell });
        }
        seen + 100 * elsewhere(&shared.words)
    };
    let writes = move |shared: &Published| {
        shared.cell.with_mut(|cell| unsafe { *cell = 1 });
        shared.words[0].swap(10, Release);
        elsewhere(&shared.words)
    };
    let other = std::sync::Arc::clone(&shared);
    let handle = thread::spawn(move || if reader_is_main { writes(&other) } else { reads(&other) });
    let here = if reader_is_main { reads(&shared) } else { writes(&shared) };
    let there = handle.join().unwrap();
    [here, there, 0]
}

#[test]
fn orders_that_are_arguments_are_those_of_each_call() {
    for reader_is_main in [false, true] {
        for (load, fail) in
            [(Acquire, Relaxed), (Acquire, Acquire), (SeqCst, Relaxed), (Relaxed, Relaxed), (Relaxed, Acquire)]
        {
            for (attempt, calls) in [(up as Attempt, 1), (set, 2)] {
                let what = format!("{load:?} {fail:?}, {calls} calls elsewhere, {reader_is_main}");
                let found = explore_all(&what, move || published(attempt, (load, fail), calls, reader_is_main));
                let races = load == Relaxed || fail == Relaxed;
                assert_eq!(found.as_ref().err().map(String::as_str), races.then_some("data-race"), "{what}");
            }
        }
    }
}

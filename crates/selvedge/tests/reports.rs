//! What reports say of operations and of threads that wait.

use selvedge::cell::UnsafeCell;
use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed};
use selvedge::sync::{Arc, RwLock, RwLockWriteGuard};
use selvedge::{hint, thread};
use std::sync::atomic::AtomicBool;

/// The lines of a failure that contain some words.
fn lines(failure: &str, words: &str) -> Vec<String> {
    failure.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
}

fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    Builder::new().explore(f).failure.expect("the model has a bug")
}

#[test]
fn read_write_locks_are_locked_to_read_or_to_write() {
    let failure = failure(|| {
        let lock = RwLock::new(());
        let _first = lock.read();
        let _second = lock.write();
    });
    let locks = lines(&failure, "locks RwLock (made at ");
    assert!(failure.starts_with("deadlock") && locks.len() == 2, "{failure}");
    assert!(locks[0].ends_with(") to read") && locks[1].ends_with(") to write"), "{failure}");
    assert!(locks[1].contains("main waits forever at "), "{failure}");
}

#[test]
fn so_are_those_that_are_only_tried() {
    let failure = failure(|| {
        let lock = RwLock::new(());
        drop(lock.try_read().unwrap());
        drop(RwLockWriteGuard::downgrade(lock.try_write().unwrap()));
        panic!("in the end");
    });
    let tried = lines(&failure, "tries to lock RwLock");
    assert!(tried[0].contains(") to read -> 0") && tried[1].contains(") to write -> 0"), "{failure}");
    let unlocked = lines(&failure, "unlocks RwLock");
    assert!(unlocked.len() == 2 && unlocked.iter().all(|line| line.ends_with(')')), "{failure}");
    assert_eq!(lines(&failure, "downgrades RwLock").len(), 1, "{failure}");
}

const NOTHING: &str = "    this loop looks at nothing of the model, so nothing that others do there can end it";

/// It waits for a variable of `std`, which the other thread would set.
#[test]
fn a_loop_that_looks_at_nothing_of_the_model_is_told_so() {
    let failure = failure(|| {
        let (flag, first) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
        first.store(1, Relaxed);
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(false, Relaxed));
        while !flag.load(Relaxed) {
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert!(failure.starts_with("livelock: main spins forever"), "{failure}");
    let at = failure.lines().position(|line| line.contains("main spins forever at ")).expect("it says where");
    assert!(failure.lines().nth(at + 1).is_some_and(|line| line.starts_with(NOTHING)), "{failure}");
}

#[test]
fn a_loop_that_looks_at_something_is_not() {
    let failure = failure(|| {
        let flag = AtomicUsize::new(0);
        while flag.load(Acquire) == 0 {
            hint::spin_loop();
        }
    });
    assert!(failure.contains("again and again: ") && !failure.contains(NOTHING), "{failure}");
}

#[test]
fn what_was_explored_is_shown_line_by_line() {
    let mut builder = Builder::new();
    builder.spurious = false;
    let race = || {
        let cell = Arc::new(UnsafeCell::new(0));
        let other = Arc::clone(&cell);
        let handle = thread::spawn(move || other.with_mut(|_| ()));
        cell.with(|_| ());
        handle.join().unwrap();
    };
    let stats = builder.explore(race);
    let failure = stats.failure.clone().unwrap();
    let lines = stats.to_string();
    assert!(lines.starts_with(failure.trim_end()), "{lines}");
    assert!(lines.contains("\n0 executions, 0 blocked, 0 spurious, "), "{lines}");
    let (none, some) = (stats.not_covered.len(), lines.matches("\nnot everything was explored: ").count());
    assert_eq!((none, some > 0), (some, true), "{lines}");
}

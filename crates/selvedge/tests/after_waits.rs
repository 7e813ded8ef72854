//! Attempts at an exchange whose load comes right after a loop that waits for one of several things: to the engine, all loads since
//! the last change belong to that wait (composite awaits), so the load is not speculative. What has to hold where attempts that fail
//! are left out has to hold all the same.

use selvedge::model::{Builder, MemoryModel};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::sync::Mutex;

#[derive(Default)]
struct Shared {
    word: AtomicUsize,
    /// Two things to wait for, the second of which never comes.
    opened: AtomicUsize,
    closed: AtomicUsize,
    /// What each attempt stores to.
    announced: AtomicUsize,
}

impl Shared {
    fn wait(&self) {
        while self.opened.load(Acquire) == 0 && self.closed.load(Relaxed) == 0 {
            hint::spin_loop();
        }
    }
}

type Outcomes = BTreeSet<[usize; 3]>;

/// Explores a model attempt by attempt and otherwise: nothing fails, and the outcomes are the same.
fn same_outcomes(body: impl Fn(&Arc<Shared>) -> [usize; 3] + Send + Sync + Copy + 'static) -> Outcomes {
    let mut all = Vec::new();
    for (one_by_one, model) in
        [true, false].into_iter().flat_map(|one| [MemoryModel::Rc11, MemoryModel::Sc].map(|model| (one, model)))
    {
        let found = std::sync::Arc::new(Mutex::new(Outcomes::new()));
        let seen = std::sync::Arc::clone(&found);
        let mut builder = Builder::new();
        (builder.attempts_one_by_one, builder.memory_model) = (one_by_one, model);
        let stats = builder.explore(move || {
            let outcome = body(&Arc::default());
            seen.lock().unwrap().insert(outcome);
        });
        assert_eq!(stats.failure, None, "one by one: {one_by_one}, {model:?}");
        all.push(std::mem::take(&mut *found.lock().unwrap()));
    }
    assert_eq!((&all[0], &all[1]), (&all[2], &all[3]));
    all.swap_remove(0)
}

#[test]
fn an_attempt_that_stores_something_does_not_wait_for_what_will_not_come_again() {
    same_outcomes(|shared| {
        let other = Arc::clone(shared);
        let handle = thread::spawn(move || {
            other.opened.store(1, Release);
            other.word.store(2, Relaxed);
        });
        shared.wait();
        let mut old = shared.word.load(Relaxed);
        loop {
            shared.announced.store(7, Relaxed);
            match shared.word.compare_exchange(old, old + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) => old = found,
            }
        }
        handle.join().unwrap();
        [old, shared.word.load(Relaxed), 0]
    });
}

#[test]
fn what_an_attempt_that_fails_has_stored_may_be_seen() {
    let outcomes = same_outcomes(|shared| {
        let other = Arc::clone(shared);
        let handle = thread::spawn(move || {
            other.opened.store(1, Release);
            other.word.fetch_add(2, Relaxed);
            other.announced.load(Relaxed)
        });
        shared.wait();
        let mut old = shared.word.load(Relaxed);
        loop {
            shared.announced.store(10 + old, Relaxed);
            match shared.word.compare_exchange(old, old + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(found) => old = found,
            }
        }
        [handle.join().unwrap(), old, 0]
    });
    assert!(outcomes.contains(&[10, 2, 0]), "{outcomes:?}");
}

/// The words are stored in no order, so an attempt may load either value and find the other one.
#[test]
fn values_that_are_stored_in_no_order_are_found_in_any() {
    let outcomes = same_outcomes(|shared| {
        let [other, third] = [shared, shared].map(Arc::clone);
        let one = thread::spawn(move || {
            other.opened.store(1, Release);
            other.word.store(2, Relaxed);
        });
        let two = thread::spawn(move || third.word.store(5, Relaxed));
        shared.wait();
        let mut old = shared.word.load(Relaxed);
        let mut odd = 0;
        while let Err(found) = shared.word.compare_exchange(old, old + 1, Relaxed, Relaxed) {
            odd |= usize::from(old == 5 && found == 2);
            old = found;
        }
        one.join().unwrap();
        two.join().unwrap();
        [old, shared.word.load(Relaxed), odd]
    });
    assert!(outcomes.contains(&[2, 3, 1]), "{outcomes:?}");
}

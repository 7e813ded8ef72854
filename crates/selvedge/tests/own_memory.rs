//! Loops that wait and allocate in every iteration: what they allocate for themselves does not tell states apart, unless it
//! makes a difference (`src/machine/churn.rs`).

// That a new box is made each time is what is looked at.
#![allow(clippy::replace_box)]

use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Release};
use selvedge::sync::{Arc, Mutex};
use selvedge::thread;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::Write;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    builder.max_branches = 300;
    builder.explore(f)
}

/// Another thread sets a flag, and the loop waits for it: what it returns, in all executions.
fn waits_for_flag(wait: fn(&AtomicUsize) -> usize) -> (BTreeSet<usize>, Stats) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&seen);
    let stats = explore(move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(1, Release));
        let found = wait(&flag);
        handle.join().unwrap();
        noted.lock().unwrap().insert(found);
    });
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, stats)
}

fn ends(most: u64, wait: fn(&AtomicUsize) -> usize) {
    let (seen, stats) = waits_for_flag(wait);
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty(), "{:?}", stats.not_covered);
    assert_eq!(seen, BTreeSet::from([1]));
    assert!(stats.complete + stats.blocked <= most, "{stats:?}");
}

#[test]
fn what_is_allocated_and_freed_in_every_look_makes_no_difference() {
    ends(12, |flag| {
        loop {
            let seen: Vec<usize> = vec![flag.load(Acquire)];
            if seen[0] == 1 {
                return seen[0];
            }
            thread::yield_now();
        }
    });
}

#[test]
fn what_is_kept_until_the_next_look_makes_no_difference() {
    ends(12, |flag| {
        let mut last: Option<Box<usize>> = None;
        loop {
            let seen = Box::new(flag.load(Acquire));
            if *seen == 1 {
                return *seen;
            }
            drop(last.replace(seen));
            thread::yield_now();
        }
    });
}

#[test]
fn a_structure_that_is_built_anew_makes_no_difference() {
    ends(12, |flag| {
        let mut all: Vec<Box<Vec<usize>>> = Vec::new();
        loop {
            all = vec![Box::new(vec![all.len()]), Box::new(vec![flag.load(Acquire)])];
            if all[1][0] == 1 {
                return all[1][0];
            }
            thread::yield_now();
        }
    });
}

/// The loop gives up in its third iteration, so it is found to have done so.
fn gives_up(wait: fn(&AtomicUsize) -> usize) {
    let (seen, stats) = waits_for_flag(wait);
    assert_eq!(stats.failure, None);
    assert_eq!(seen, BTreeSet::from([1, 3]));
}

#[test]
fn a_loop_that_counts_in_new_memory_gives_up() {
    gives_up(|flag| {
        let mut count = Box::new(0);
        loop {
            if flag.load(Acquire) == 1 {
                return 1;
            }
            count = Box::new(*count + 1);
            if *count == 3 {
                return 3;
            }
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_counts_by_the_length_of_a_list_gives_up() {
    struct Node(Option<Box<Node>>);
    gives_up(|flag| {
        let mut list = None;
        loop {
            if flag.load(Acquire) == 1 {
                return 1;
            }
            list = Some(Box::new(Node(list.take())));
            let third = list.as_ref().and_then(|node| node.0.as_ref()).and_then(|node| node.0.as_ref());
            if third.is_some() {
                return 3;
            }
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_counts_in_a_thread_local_variable_gives_up() {
    selvedge::thread_local! {
        static COUNT: Cell<usize> = Cell::new(0);
    }
    gives_up(|flag| {
        loop {
            let seen = Box::new(flag.load(Acquire));
            if *seen == 1 {
                return 1;
            }
            if COUNT.with(|count| count.replace(count.get() + 1)) == 2 {
                return 3;
            }
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_turns_pointers_round_comes_back_after_two_iterations() {
    ends(24, |flag| {
        let mut pair = (Box::new(0), Box::new(1));
        loop {
            if flag.load(Acquire) == 1 {
                return 1;
            }
            // Not alike: the first box is the other one in turn.
            pair = (Box::new(*pair.1), Box::new(*pair.0));
            thread::yield_now();
        }
    });
}

#[test]
fn what_others_see_is_not_the_loops_own() {
    let stats = explore(|| {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(Box::new(0))));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            let count = **other.1.lock().unwrap();
            assert!(count < 3, "it has looked three times before");
            other.0.store(1, Release);
        });
        while shared.0.load(Acquire) == 0 {
            let mut count = shared.1.lock().unwrap();
            *count = Box::new(**count + 1);
            if **count == 4 {
                break;
            }
            drop(count);
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert!(stats.failure.is_some_and(|failure| failure.contains("three times before")));
}

#[test]
fn what_the_stack_of_another_points_to_is_not_the_loops_own() {
    let stats = explore(|| {
        let flag = AtomicUsize::new(0);
        let mut count = Box::new(std::sync::atomic::AtomicUsize::new(0));
        thread::scope(|scope| {
            let (flag, count) = (&flag, &mut count);
            let handle = scope.spawn(move || {
                while flag.load(Acquire) == 0 {
                    // Its creator finds it when it has ended.
                    **count = std::sync::atomic::AtomicUsize::new(count.load(Acquire) + 1);
                    let _again = Box::new(0);
                    thread::yield_now();
                }
            });
            flag.store(1, Release);
            handle.join().unwrap();
        });
        assert_ne!(count.load(Acquire), 3, "three looks in vain");
    });
    assert!(stats.failure.is_some_and(|failure| failure.contains("three looks in vain")));
}

#[test]
fn a_wait_for_ever_that_allocates_is_a_livelock() {
    let stats = explore(|| {
        let flag = AtomicUsize::new(0);
        loop {
            let seen = Box::new(flag.load(Acquire));
            if *seen == 1 {
                break;
            }
            thread::yield_now();
        }
    });
    assert!(stats.failure.is_some_and(|failure| failure.contains("livelock")));
}

/// On stacks are words that are no pointers, and are the same as one in some runs.
#[test]
fn what_seems_to_point_to_memory_may_change_from_run_to_run() {
    use std::sync::atomic::{AtomicUsize as Word, Ordering::Relaxed};
    static ADDRESSES: [Word; 64] = [const { Word::new(0) }; 64];
    static MADE: Word = Word::new(0);
    static RUNS: Word = Word::new(0);
    for period in 2..6 {
        RUNS.store(0, Relaxed);
        let stats = explore(move || {
            let words = Arc::new([const { AtomicUsize::new(0) }; 2]);
            let other = Arc::clone(&words);
            let handle = thread::spawn(move || {
                let seems = RUNS.fetch_add(1, Relaxed).is_multiple_of(period);
                let mut left = ADDRESSES.each_ref().map(|address| if seems { address.load(Relaxed) } else { 0 });
                other[1].store(1, Release);
                other[1].store(2, Release);
                other[0].store(1, Release);
                std::hint::black_box(&mut left);
            });
            let mut last: Option<Box<usize>> = None;
            while words[0].load(Acquire) == 0 {
                let seen = Box::new(words[1].load(Acquire));
                ADDRESSES[MADE.fetch_add(1, Relaxed) % 64].store(std::ptr::from_ref(&*seen).addr(), Relaxed);
                drop(last.replace(seen));
                thread::yield_now();
            }
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None, "every {period} runs");
        // Where it seems so each time that it matters, the loop never comes back, and that is said.
        let is_said =
            |what: &String| what.starts_with("executions in which a thread comes more than 2 times round a loop");
        assert!(stats.not_covered.iter().all(is_said), "{:?}", stats.not_covered);
    }
}

/// A log that one keeps for when something fails, as tests of published crates do: it is emptied where an execution ends, which
/// not all runs do, and grows in some runs and not in others.
#[test]
fn a_log_that_outlives_runs_may_grow() {
    std::thread_local!(static LOG: RefCell<String> = const { RefCell::new(String::new()) });
    fn log(what: std::fmt::Arguments<'_>) {
        LOG.with_borrow_mut(|log| {
            log.write_fmt(what).unwrap();
            log.push('\n');
        });
    }
    for length in [1, 10, 100, 1000] {
        let stats = explore(move || {
            let line = "-".repeat(length);
            log(format_args!("start {line}"));
            let words = Arc::new([const { AtomicUsize::new(0) }; 2]);
            let other = Arc::clone(&words);
            let handle = thread::spawn(move || {
                for n in 1..4 {
                    other[1].store(n, Release);
                }
                other[0].store(1, Release);
            });
            while words[0].load(Acquire) == 0 {
                let seen = words[1].load(Acquire);
                log(format_args!("{line} {seen}"));
                thread::yield_now();
            }
            handle.join().unwrap();
            LOG.with_borrow_mut(String::clear);
        });
        assert_eq!(stats.failure, None, "lines of {length}");
        assert!(stats.not_covered.is_empty(), "{:?}", stats.not_covered);
    }
}

/// What a thread is told is the same whatever it finds under a lock.
#[test]
fn what_lies_under_a_lock_makes_a_difference() {
    let stats = explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || *other.lock().unwrap() = 1);
        let mut found = 0;
        while found < 3 {
            let seen = Box::new(*lock.lock().unwrap());
            found += *std::hint::black_box(seen);
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty(), "{:?}", stats.not_covered);
}

//! Weak exchanges in loops that try again: an attempt that fails for no reason is explored only if it leaves a trace.

// Nodes are pointed to.
#![allow(unsafe_code)]

use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize};
use selvedge::thread;
use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

type Seen = BTreeSet<Vec<usize>>;

/// Explores a model, with attempts taken together or one by one; what its executions have come to.
fn explore<F>(one_by_one: bool, f: F) -> (Seen, Stats)
where
    F: Fn() -> Vec<usize> + Send + Sync + 'static,
{
    let seen = StdArc::new(StdMutex::new(Seen::new()));
    let all = StdArc::clone(&seen);
    let mut builder = Builder::new();
    builder.attempts_one_by_one = one_by_one;
    let stats = builder.explore(move || {
        let outcome = f();
        all.lock().unwrap().insert(outcome);
    });
    let seen = seen.lock().unwrap().clone();
    (seen, stats)
}

/// Both ways see the same; how many executions there are when attempts are taken together.
#[track_caller]
fn agree<F>(f: F) -> (u64, u64)
where
    F: Fn() -> Vec<usize> + Send + Sync + Clone + 'static,
{
    let (seen, stats) = explore(false, f.clone());
    let (wanted, all) = explore(true, f);
    assert_eq!((&stats.failure, &all.failure), (&None, &None));
    assert_eq!(seen, wanted);
    let count = |stats: &Stats| stats.complete + stats.blocked + stats.spurious;
    assert!(count(&stats) <= count(&all));
    (stats.complete, stats.spurious)
}

fn threads(n: usize, f: impl Fn(usize) -> usize + Send + Sync + 'static) -> Vec<usize> {
    let f = StdArc::new(f);
    let start = |n| {
        let f = StdArc::clone(&f);
        thread::spawn(move || f(n))
    };
    let handles: Vec<_> = (0..n).map(start).collect();
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}

#[test]
fn a_counter_that_loads_again_needs_no_second_pass() {
    let counts = agree(|| {
        let x = AtomicUsize::new(0);
        threads(3, move |_| {
            loop {
                let old = x.load(Relaxed);
                if x.compare_exchange_weak(old, old + 1, AcqRel, Relaxed).is_ok() {
                    return old;
                }
            }
        })
    });
    assert_eq!(counts, (6, 0));
}

#[test]
fn a_counter_that_goes_on_with_what_was_found_needs_no_second_pass() {
    let counts = agree(|| {
        let x = AtomicUsize::new(0);
        threads(3, move |_| {
            let mut old = x.load(Relaxed);
            while let Err(now) = x.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
                old = now;
            }
            old
        })
    });
    assert_eq!(counts, (6, 0));
}

struct Node {
    next: AtomicPtr<Node>,
    value: usize,
}

fn push(top: &AtomicPtr<Node>, value: usize) {
    let node = Box::into_raw(Box::new(Node { next: AtomicPtr::default(), value }));
    let mut old = top.load(Relaxed);
    loop {
        unsafe { &*node }.next.store(old, Relaxed);
        match top.compare_exchange_weak(old, node, Release, Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

#[test]
fn a_stack_needs_no_second_pass() {
    let counts = agree(|| {
        let top = StdArc::new(AtomicPtr::default());
        let own = StdArc::clone(&top);
        threads(3, move |n| {
            push(&own, n);
            0
        });
        let (mut values, mut next) = (Vec::new(), top.load(Acquire));
        while !next.is_null() {
            let node = unsafe { Box::from_raw(next) };
            values.push(node.value);
            next = node.next.load(Relaxed);
        }
        values
    });
    assert_eq!(counts, (6, 0));
}

/// An attempt that fails for no reason does something that one which fails for a reason does not.
#[test]
fn what_is_done_only_if_it_fails_for_no_reason_is_seen() {
    let model = || {
        let x = AtomicUsize::new(0);
        threads(2, move |_| {
            let mut strange = 0;
            let mut old = x.load(Relaxed);
            while let Err(now) = x.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
                strange += usize::from(now == old);
                old = now;
            }
            strange
        })
    };
    let (complete, spurious) = agree(model);
    assert!(complete > 2 && spurious > 0);
    let (seen, _) = explore(false, model);
    assert!(seen.contains(&vec![1, 1]));
}

/// The same where it goes wrong.
#[test]
fn what_goes_wrong_only_if_it_fails_for_no_reason_is_found() {
    let (_, stats) = explore(false, || {
        let x = AtomicUsize::new(0);
        threads(2, move |_| {
            loop {
                let old = x.load(Acquire);
                match x.compare_exchange_weak(old, old + 1, AcqRel, Acquire) {
                    Ok(_) => return old,
                    Err(now) => assert_ne!(now, old, "nobody has come in between"),
                }
            }
        })
    });
    let failure = stats.failure.unwrap();
    assert!(failure.contains("nobody has come in between") && failure.contains("fails for no reason"), "{failure}");
}

/// What fails for no reason elsewhere is found, and can be run again, though exchanges before it are not asked whether they do.
#[test]
fn an_execution_in_which_something_else_fails_for_no_reason_can_be_run_again() {
    let file = std::env::temp_dir().join(format!("selvedge-weak-{}", std::process::id()));
    let mut builder = Builder::new();
    builder.checkpoint_file = Some(file.clone());
    let again = || {
        let stats = builder.explore(|| {
            let (x, once) = (AtomicUsize::new(0), AtomicUsize::new(0));
            threads(2, move |n| {
                let mut old = x.load(Relaxed);
                while let Err(now) = x.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
                    old = now;
                }
                if n == 1 {
                    assert!(once.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok(), "nobody else does that");
                }
                old
            });
        });
        stats.failure.unwrap()
    };
    let (first, second) = (again(), again());
    std::fs::remove_file(&file).unwrap();
    for failure in [&first, &second] {
        assert!(failure.contains("nobody else does that") && failure.contains("fails for no reason"), "{failure}");
        assert!(failure.contains("fails only for a reason, here"), "{failure}");
    }
    assert!(second.contains("which was run again"), "{second}");
}

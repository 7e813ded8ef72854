//! Litmus tests: as many executions as RC11 has consistent execution graphs, and the outcomes that it allows.

use selvedge::model::Builder;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicUsize, Ordering, fence};
use selvedge::thread;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The number of executions, and what they have noted.
fn run<T: Ord + Clone + Send + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> (u64, Vec<T>) {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&outcomes);
    let stats = Builder::new().explore(move || {
        let outcome = f();
        noted.lock().unwrap().insert(outcome);
    });
    assert_eq!(stats.failure, None);
    assert_eq!(stats.blocked, 0);
    let outcomes = outcomes.lock().unwrap().iter().cloned().collect();
    (stats.complete, outcomes)
}

fn atomics<const N: usize>() -> Arc<[AtomicUsize; N]> {
    Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)))
}

fn store_buffering(store: Ordering, load: Ordering, fenced: bool) -> (u64, Vec<(usize, usize)>) {
    run(move || {
        let xy = atomics::<2>();
        let side = move |xy: Arc<[AtomicUsize; 2]>, mine: usize| {
            move || {
                xy[mine].store(1, store);
                if fenced {
                    fence(SeqCst);
                }
                xy[1 - mine].load(load)
            }
        };
        let a = thread::spawn(side(Arc::clone(&xy), 0));
        let b = thread::spawn(side(xy, 1));
        (a.join().unwrap(), b.join().unwrap())
    })
}

#[test]
fn store_buffering_relaxed_has_4_executions() {
    assert_eq!(store_buffering(Relaxed, Relaxed, false), (4, vec![(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn store_buffering_release_acquire_has_4_executions() {
    assert_eq!(store_buffering(Release, Acquire, false).0, 4);
}

#[test]
fn store_buffering_sequentially_consistent_has_3_executions() {
    assert_eq!(store_buffering(SeqCst, SeqCst, false), (3, vec![(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn store_buffering_with_fences_has_3_executions() {
    assert_eq!(store_buffering(Relaxed, Relaxed, true).0, 3);
}

fn message_passing(store: Ordering, load: Ordering) -> (u64, Vec<(usize, usize)>) {
    run(move || {
        let xy = atomics::<2>();
        let writer = Arc::clone(&xy);
        let a = thread::spawn(move || {
            writer[0].store(1, Relaxed);
            writer[1].store(1, store);
        });
        let b = thread::spawn(move || (xy[1].load(load), xy[0].load(Relaxed)));
        a.join().unwrap();
        b.join().unwrap()
    })
}

#[test]
fn message_passing_relaxed_has_4_executions() {
    assert_eq!(message_passing(Relaxed, Relaxed), (4, vec![(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn message_passing_release_acquire_has_3_executions() {
    assert_eq!(message_passing(Release, Acquire), (3, vec![(0, 0), (0, 1), (1, 1)]));
}

#[test]
fn load_buffering_has_3_executions() {
    let result = run(|| {
        let xy = atomics::<2>();
        let other = Arc::clone(&xy);
        let a = thread::spawn(move || {
            let r = other[0].load(Relaxed);
            other[1].store(1, Relaxed);
            r
        });
        let r = xy[1].load(Relaxed);
        xy[0].store(1, Relaxed);
        (a.join().unwrap(), r)
    });
    assert_eq!(result, (3, vec![(0, 0), (0, 1), (1, 0)]));
}

#[test]
fn two_plus_two_writes_has_4_executions() {
    let result = run(|| {
        let xy = atomics::<2>();
        let (first, second) = (Arc::clone(&xy), Arc::clone(&xy));
        let a = thread::spawn(move || {
            first[0].store(1, Relaxed);
            first[1].store(2, Relaxed);
        });
        let b = thread::spawn(move || {
            second[1].store(1, Relaxed);
            second[0].store(2, Relaxed);
        });
        a.join().unwrap();
        b.join().unwrap();
        (xy[0].load(Relaxed), xy[1].load(Relaxed))
    });
    assert_eq!(result, (4, vec![(1, 1), (1, 2), (2, 1), (2, 2)]));
}

#[test]
fn reads_of_one_location_are_coherent() {
    let result = run(|| {
        let x = atomics::<1>();
        let writer = Arc::clone(&x);
        let a = thread::spawn(move || {
            writer[0].store(1, Relaxed);
            writer[0].store(2, Relaxed);
        });
        let b = thread::spawn(move || (x[0].load(Relaxed), x[0].load(Relaxed)));
        a.join().unwrap();
        b.join().unwrap()
    });
    assert_eq!(result, (6, vec![(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]));
}

fn iriw(store: Ordering, load: Ordering) -> (u64, usize) {
    let (executions, outcomes) = run(move || {
        let xy = atomics::<2>();
        let writer = |n: usize| {
            let xy = Arc::clone(&xy);
            thread::spawn(move || xy[n].store(1, store))
        };
        let reader = |n: usize| {
            let xy = Arc::clone(&xy);
            thread::spawn(move || (xy[n].load(load), xy[1 - n].load(load)))
        };
        let (w0, w1, r0, r1) = (writer(0), writer(1), reader(0), reader(1));
        w0.join().unwrap();
        w1.join().unwrap();
        (r0.join().unwrap(), r1.join().unwrap())
    });
    (executions, outcomes.len())
}

#[test]
fn independent_reads_of_independent_writes_has_16_outcomes_or_15() {
    assert_eq!(iriw(Release, Acquire), (16, 16));
    assert_eq!(iriw(SeqCst, SeqCst), (15, 15));
}

#[test]
fn read_modify_writes_are_atomic() {
    let result = run(|| {
        let x = atomics::<1>();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let x = Arc::clone(&x);
                thread::spawn(move || x[0].fetch_add(1, AcqRel))
            })
            .collect();
        let mut seen: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        seen.sort_unstable();
        seen
    });
    assert_eq!(result, (6, vec![vec![0, 1, 2]]));
}

#[test]
fn a_release_sequence_goes_through_read_modify_writes() {
    let result = run(|| {
        let xy = atomics::<2>();
        let (first, second) = (Arc::clone(&xy), Arc::clone(&xy));
        let a = thread::spawn(move || {
            first[0].store(1, Relaxed);
            first[1].store(1, Release);
        });
        let b = thread::spawn(move || second[1].fetch_add(1, Relaxed));
        let seen = (xy[1].load(Acquire), xy[0].load(Relaxed));
        a.join().unwrap();
        b.join().unwrap();
        seen
    });
    assert!(!result.1.contains(&(2, 0)), "2 was made of the released 1: {:?}", result.1);
    assert!(result.1.contains(&(2, 1)));
}

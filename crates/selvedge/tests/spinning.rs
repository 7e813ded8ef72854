//! Loops that wait for others.

use selvedge::hint;
use selvedge::model::{Builder, Engine, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::thread;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

fn passes(f: impl Fn() + Send + Sync + 'static) -> Stats {
    let stats = explore(f);
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty());
    stats
}

#[test]
fn a_loop_that_waits_for_a_flag_ends() {
    let stats = passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
        handle.join().unwrap();
    });
    // It sees the flag at once, or at the second look.
    assert_eq!(stats.complete, 2);
}

fn lock_with_swap(locked: &AtomicBool) {
    while locked.swap(true, Acquire) {
        hint::spin_loop();
    }
}

fn lock_with_exchange(locked: &AtomicBool) {
    while locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
        thread::yield_now();
    }
}

fn lock_with_test(locked: &AtomicBool) {
    loop {
        while locked.load(Relaxed) {
            hint::spin_loop();
        }
        if !locked.swap(true, Acquire) {
            return;
        }
    }
}

fn spin_lock(lock: fn(&AtomicBool), threads: usize) {
    passes(move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    lock(&shared.0);
                    let count = shared.1.load(Relaxed);
                    shared.1.store(count + 1, Relaxed);
                    shared.0.store(false, Release);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.1.load(Relaxed), threads);
    });
}

#[test]
fn spin_locks_exclude() {
    for lock in [lock_with_swap, lock_with_exchange, lock_with_test] {
        spin_lock(lock, 2);
    }
    spin_lock(lock_with_exchange, 3);
}

#[test]
fn a_ticket_lock_excludes() {
    passes(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
        let handles: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let ticket = shared.0.fetch_add(1, Relaxed);
                    while shared.1.load(Acquire) != ticket {
                        hint::spin_loop();
                    }
                    let count = shared.2.load(Relaxed);
                    shared.2.store(count + 1, Relaxed);
                    shared.1.store(ticket + 1, Release);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.2.load(Relaxed), 3);
    });
}

#[test]
fn a_lock_that_is_never_released_is_a_livelock() {
    let stats = explore(|| {
        let locked = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&locked);
        let handle = thread::spawn(move || lock_with_swap(&other));
        lock_with_swap(&locked);
        handle.join().unwrap();
    });
    let failure = stats.failure.expect("one of them spins forever");
    assert!(failure.contains("livelock") && failure.contains("spinning.rs"), "{failure}");
    // Which value it finds, and who has put it there.
    let seen = failure.lines().find(|line| line.contains("again and again")).expect("what the thread sees");
    assert!(seen.contains("spinning.rs:") && seen.contains("-> true (from step "), "{failure}");
}

#[test]
fn a_livelock_is_reported_with_all_that_the_loop_reads() {
    for engine in [Engine::Graph, Engine::Trace] {
        let mut builder = Builder::new();
        builder.engine = engine;
        let stats = builder.explore(|| {
            let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(4)));
            let other = Arc::clone(&shared);
            let handle = thread::Builder::new().name("writer".to_owned());
            let handle = handle.spawn(move || other.0.store(2, Release)).unwrap();
            while shared.0.load(Acquire) < 3 && !shared.1.load(Acquire) {
                hint::spin_loop();
            }
            shared.2.load(Acquire);
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("it waits for more than there will be");
        let seen: Vec<&str> = failure.lines().filter(|line| line.contains("again and again")).collect();
        let [first, second] = seen[..] else { panic!("{failure}") };
        assert!(first.contains("AtomicUsize") && first.contains("-> 2 (from step "), "{failure}");
        assert!(first.contains("writer at crates/selvedge/tests/spinning.rs:"), "{failure}");
        assert!(second.contains("AtomicBool") && second.contains("-> false (its first value)"), "{failure}");
    }
}

/// How far a loop gets that counts its rounds on the heap.
#[test]
fn a_loop_that_counts_its_iterations_on_the_heap_gives_up() {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        let round = Box::new(std::cell::Cell::new(0));
        while round.get() < 4 && !flag.load(Acquire) {
            round.set(round.get() + 1);
            hint::spin_loop();
        }
        noted.lock().unwrap().insert(round.get());
        handle.join().unwrap();
    });
    assert_eq!(*reached.lock().unwrap(), [0, 1, 2, 3, 4].into());
}

/// Somebody else changes memory of the model while a thread spins: that is no progress of the thread.
#[test]
fn what_others_do_with_their_memory_is_no_reason_to_go_on() {
    let stats = passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || {
            let mut numbers = vec![1];
            numbers.push(usize::from(other.load(Relaxed)));
            other.store(true, Release);
            numbers.len()
        });
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
        assert_eq!(handle.join().unwrap(), 2);
    });
    assert_eq!(stats.complete, 2);
}

/// How far a loop gets that gives up after some iterations.
fn gives_up_after(rounds: usize) -> Vec<usize> {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        let mut round = 0;
        while round < rounds && !flag.load(Acquire) {
            round += 1;
            hint::spin_loop();
        }
        noted.lock().unwrap().insert(round);
        handle.join().unwrap();
    });
    reached.lock().unwrap().iter().copied().collect()
}

#[test]
fn a_loop_that_counts_its_iterations_gives_up() {
    assert_eq!(gives_up_after(4), [0, 1, 2, 3, 4]);
}

#[test]
fn yields_that_stand_behind_each_other_are_no_loop() {
    let stats = passes(|| {
        thread::yield_now();
        thread::yield_now();
        hint::spin_loop();
    });
    assert_eq!((stats.complete, stats.blocked), (1, 0));
}

/// An MCS lock: everybody waits for a flag of its own.
#[test]
fn a_queue_lock_excludes() {
    use selvedge::sync::atomic::AtomicPtr;
    use std::ptr;
    struct Waiter {
        next: AtomicPtr<Waiter>,
        waits: AtomicBool,
    }
    for threads in [2, 3] {
        passes(move || {
            let shared = Arc::new((AtomicPtr::<Waiter>::new(ptr::null_mut()), AtomicUsize::new(0)));
            let waiters: Vec<&'static Waiter> = (0..threads)
                .map(|_| Waiter { next: AtomicPtr::new(ptr::null_mut()), waits: AtomicBool::new(true) })
                .map(|waiter| &*Box::leak(Box::new(waiter)))
                .collect();
            let find = |pointer: *mut Waiter, all: &[&'static Waiter]| {
                *all.iter().find(|waiter| ptr::eq(**waiter, pointer)).expect("pointers are to waiters")
            };
            let handles: Vec<_> = (0..threads)
                .map(|n| {
                    let (shared, all) = (Arc::clone(&shared), waiters.clone());
                    thread::spawn(move || {
                        let me = ptr::from_ref(all[n]).cast_mut();
                        let before = shared.0.swap(me, selvedge::sync::atomic::Ordering::AcqRel);
                        if !before.is_null() {
                            find(before, &all).next.store(me, Release);
                            while all[n].waits.load(Acquire) {
                                hint::spin_loop();
                            }
                        }
                        let count = shared.1.load(Relaxed);
                        shared.1.store(count + 1, Relaxed);
                        if shared.0.compare_exchange(me, ptr::null_mut(), Release, Relaxed).is_err() {
                            let mut next = all[n].next.load(Acquire);
                            while next.is_null() {
                                hint::spin_loop();
                                next = all[n].next.load(Acquire);
                            }
                            find(next, &all).waits.store(false, Release);
                        }
                    })
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(shared.1.load(Relaxed), threads);
        });
    }
}

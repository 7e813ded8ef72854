//! Models that are not deterministic are refused, with the first operation that differs.

// A block is freed.
#![allow(unsafe_code)]

use selvedge::Engine;
use selvedge::model::Builder;
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};
use selvedge::sync::{Arc, Mutex};
use selvedge::thread;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU32 as Outside;
use std::task::{Wake, Waker};
use std::time::SystemTime;

/// Explores a model in which a thread stores something that is another value in every run, and checks what is said of it.
fn is_refused(value: impl Fn() -> u32 + Copy + Send + Sync + 'static) {
    let stats = Builder::new().explore(move || {
        let shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            // This is the same in every run.
            other[0].store(1, Relaxed);
            other[1].store(value(), Relaxed);
        });
        shared[0].load(Relaxed);
        shared[1].load(Relaxed);
        handle.join().unwrap();
    });
    let failure = stats.failure.expect("the model is not deterministic");
    assert!(failure.contains("not deterministic"), "{failure}");
    // The thread, what it did, what it does now, and where.
    assert!(failure.contains("thread 1 did this in one run: store of "), "{failure}");
    assert_eq!(failure.matches("store of ").count(), 2, "{failure}");
    assert!(!failure.contains("store of 1,"), "{failure}");
    assert!(failure.contains("nondeterministic.rs:"), "{failure}");
}

#[test]
fn what_depends_on_time_is_refused() {
    is_refused(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos()) | 2);
}

#[test]
fn what_depends_on_randomness_is_refused() {
    is_refused(|| std::hash::RandomState::new().hash_one(7) as u32 | 2);
}

#[test]
fn what_depends_on_addresses_is_refused() {
    // What is leaked is somewhere else every time.
    is_refused(|| std::ptr::from_ref(Box::leak(Box::new([0u8; 64]))).addr() as u32 | 2);
}

#[test]
fn what_depends_on_threads_of_the_operating_system_is_refused() {
    static COUNT: Outside = Outside::new(2);
    is_refused(|| {
        let handle = std::thread::spawn(|| COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        handle.join().unwrap()
    });
}

#[test]
fn what_depends_on_atomics_outside_of_the_model_is_refused() {
    static COUNT: Outside = Outside::new(2);
    is_refused(|| COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
}

/// That an operation is missing is found too.
#[test]
fn a_thread_that_ends_before_it_did_is_refused() {
    static RUNS: Outside = Outside::new(0);
    let stats = Builder::new().explore(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || {
            let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if run.is_multiple_of(2) {
                other.store(5, Relaxed);
            }
            other.store(6, Relaxed);
        });
        x.load(Relaxed);
        x.load(Relaxed);
        handle.join().unwrap();
    });
    let failure = stats.failure.expect("the model is not deterministic");
    assert!(failure.contains("not deterministic"), "{failure}");
}

/// What is said of a model that is not deterministic.
fn refused(model: impl Fn() + Send + Sync + 'static) -> String {
    let stats = Builder::new().explore(model);
    let failure = stats.failure.expect("the model is not deterministic");
    assert!(failure.contains("not deterministic"), "{failure}");
    assert!(failure.contains("nondeterministic.rs:"), "{failure}");
    failure
}

/// A number that no other call gets.
fn next() -> u32 {
    static COUNT: Outside = Outside::new(2);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Two threads, of which one loads and then does something.
fn loads_and_then(last: impl Fn(&AtomicU32)) {
    let x = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&x);
    let handle = thread::spawn(move || other.store(1, Relaxed));
    x.load(Relaxed);
    last(&x);
    handle.join().unwrap();
    x.load(Relaxed);
}

#[test]
fn what_is_stored_after_a_load_is_compared() {
    let failure = refused(|| loads_and_then(|x| x.store(next(), Relaxed)));
    assert_eq!(failure.matches("store of ").count(), 2, "{failure}");
}

#[test]
fn first_values_are_compared() {
    let failure = refused(|| {
        let x = Arc::new(AtomicU32::new(next()));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(1, Relaxed));
        x.load(Relaxed);
        handle.join().unwrap();
    });
    assert!(failure.contains("the first value of AtomicU32"), "{failure}");
}

#[test]
fn a_model_of_one_thread_is_run_twice() {
    let failure = refused(|| AtomicU32::new(0).store(next(), Relaxed));
    assert_eq!(failure.matches("store of ").count(), 2, "{failure}");
}

#[test]
fn the_last_operation_is_compared() {
    static RUNS: Outside = Outside::new(0);
    refused(|| {
        let odd = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 1;
        let x = AtomicU32::new(0);
        x.load(Relaxed);
        if odd {
            x.store(1, Relaxed);
        }
    });
}

/// The same operation at another place is another one.
#[test]
fn how_often_an_operation_is_performed_is_compared() {
    refused(|| {
        let n = next();
        loads_and_then(|x| {
            for _ in 0..n {
                x.load(Relaxed);
            }
        });
    });
}

/// As with those of a `HashMap`: both are made at one place, and what is done to them looks the same.
#[test]
fn objects_that_come_in_another_order_are_told_apart() {
    static RUNS: Outside = Outside::new(0);
    let stores = |met_first: bool| {
        move || {
            let n = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as usize % 2;
            let words = Arc::new([0, 1].map(|_| AtomicU32::new(0)));
            let other = Arc::clone(&words);
            if met_first {
                words.iter().for_each(|word| word.store(3, Relaxed));
            }
            let handle = thread::spawn(move || other[n].store(4, Relaxed));
            words[0].load(Relaxed);
            handle.join().unwrap();
        }
    };
    for met_first in [false, true] {
        let failure = refused(stores(met_first));
        assert!(failure.contains("in one run: store of 4, Relaxed, to AtomicU32"), "{failure}");
        assert!(failure.contains("the same, but with another AtomicU32 made at the same place"), "{failure}");
    }
}

/// What happens in the first run only does not go unnoticed.
#[test]
fn what_is_done_once_in_a_process_is_refused() {
    static DONE: Outside = Outside::new(0);
    let failure = refused(|| {
        loads_and_then(|x| {
            if DONE.swap(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                x.fetch_add(1, Relaxed);
            }
        });
    });
    assert!(failure.contains("fetch_add") || failure.contains("add 1"), "{failure}");
}

/// Threads that were never created are not waited for.
#[test]
fn a_number_of_threads_that_changes_is_no_deadlock() {
    static RUNS: Outside = Outside::new(0);
    let failure = refused(|| {
        let n = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let x = Arc::new(AtomicU32::new(0));
        let store = |_| {
            let other = Arc::clone(&x);
            thread::spawn(move || other.store(1, Relaxed))
        };
        let handles: Vec<_> = (0..1 + n % 2).map(store).collect();
        x.load(Relaxed);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert!(!failure.contains("deadlock"), "{failure}");
}

/// A panic that does not come again is not the model's.
#[test]
fn a_failure_that_does_not_come_again_is_refused() {
    static RUNS: Outside = Outside::new(0);
    let failure = refused(|| {
        loads_and_then(|_| assert!(RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) != 0, "only once"));
    });
    assert!(failure.contains("it failed: only once"), "{failure}");
}

#[test]
fn threads_that_wait_forever_in_one_run_only_are_refused() {
    static RUNS: [Outside; 2] = [const { Outside::new(0) }; 2];
    /// Makes more operations in later runs.
    fn stores_and_then(runs: &Outside, waits: impl FnOnce(Arc<AtomicU32>) + Send + 'static) {
        let x = Arc::new(AtomicU32::new(0));
        for _ in 0..runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed).min(4) {
            x.store(0, Relaxed);
        }
        thread::spawn(move || waits(x)).join().unwrap();
    }
    let failure = refused(|| stores_and_then(&RUNS[0], |_| thread::park()));
    assert!(failure.contains("deadlock: "), "{failure}");
    let failure = refused(|| {
        stores_and_then(&RUNS[1], |x| {
            while x.load(Relaxed) == 0 {
                thread::yield_now();
            }
        });
    });
    assert!(failure.contains("livelock: "), "{failure}");
}

/// What threads share beside the model decides how many operations one makes: they seem to wait for a lock that is free.
#[test]
fn threads_that_wait_for_what_is_there_are_refused() {
    let failure = refused(|| {
        let shared = Arc::new((Mutex::new(()), AtomicU32::new(0), AtomicU32::new(0), Outside::new(0)));
        let one = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                drop(shared.0.lock());
                shared.3.store(1, std::sync::atomic::Ordering::SeqCst);
                drop(shared.0.lock());
                shared.3.store(0, std::sync::atomic::Ordering::SeqCst);
            })
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                drop(shared.0.lock());
                shared.1.fetch_add(1, Relaxed);
                if shared.3.load(std::sync::atomic::Ordering::SeqCst) == 1 {
                    shared.2.store(1, Relaxed);
                }
                drop(shared.0.lock());
            })
        };
        shared.1.fetch_add(1, Relaxed);
        one.join().unwrap();
        other.join().unwrap();
    });
    assert!(failure.contains("not deterministic"), "{failure}");
}

/// Where things lie in memory is up to the allocator.
#[test]
fn addresses_that_differ_are_no_difference() {
    let stats = Builder::new().explore(|| {
        // These live on in every run, so that the next one allocates elsewhere.
        std::mem::forget(vec![0u8; 1000]);
        let node = Box::into_raw(Box::new(7u64));
        let first = Arc::new(AtomicPtr::new(node));
        let shared = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || other.store(node, Relaxed));
        let found = shared.load(Relaxed);
        assert!(found.is_null() || found == first.load(Relaxed));
        handle.join().unwrap();
        // SAFETY: it comes from a box, and nobody else uses it any more.
        drop(unsafe { Box::from_raw(shared.load(Relaxed)) });
    });
    assert_eq!(stats.failure, None);
    assert_eq!(stats.complete, 2);
}

/// A waker of `Wake` is in one of `std`'s `Arc`s. Who drops it last depends on the order in which threads ran, which is not that of
/// the execution.
#[test]
fn who_is_the_last_owner_by_the_counts_of_std() {
    struct Stores(Arc<AtomicUsize>);
    impl Wake for Stores {
        fn wake(self: std::sync::Arc<Self>) {}
    }
    impl Drop for Stores {
        fn drop(&mut self) {
            self.0.store(1, Relaxed);
        }
    }
    for engine in [Engine::Graph, Engine::Trace] {
        let mut builder = Builder::new();
        builder.engine = engine;
        let stats = builder.explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let y = Arc::clone(&x);
            let waker = Waker::from(std::sync::Arc::new(Stores(Arc::clone(&x))));
            let clone = waker.clone();
            let other = thread::spawn(move || {
                y.load(Relaxed);
                drop(clone);
            });
            x.load(Relaxed);
            drop(waker);
            x.load(Relaxed);
            other.join().unwrap();
        });
        let failure = stats.failure.expect("it is found out");
        assert!(failure.contains("not deterministic") && failure.contains("std::sync::Arc"), "{engine:?}: {failure}");
    }
}

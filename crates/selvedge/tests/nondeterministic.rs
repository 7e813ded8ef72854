//! Models that are not deterministic are refused, with the first operation that differs.

use selvedge::model::Builder;
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicU32;
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::thread;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU32 as Outside;
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

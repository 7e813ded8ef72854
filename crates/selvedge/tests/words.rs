//! Reports in words that say what was, and no more.

use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread;

/// The message of a model that fails.
fn message(model: impl Fn() + Sync + Send + 'static) -> String {
    Builder::new().explore(model).failure.expect("it fails")
}

#[test]
fn a_thread_that_could_go_on_is_not_said_to_be_stuck() {
    let text = message(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        thread::spawn(move || other.store(1, Release));
        assert_eq!(x.load(Acquire), 1);
    });
    assert!(!text.contains("forever"), "{text}");
    assert!(text.contains("thread 1 has come to") && text.contains("store of 1"), "{text}");
    assert!(text.contains("the first that was explored"), "{text}");
}

#[test]
fn what_happens_for_no_reason_is_said_to() {
    let text = message(|| {
        let x = AtomicUsize::new(0);
        assert!(x.compare_exchange_weak(0, 1, AcqRel, Relaxed).is_ok());
    });
    assert!(text.contains("fails for no reason") && !text.contains("chooses"), "{text}");
    let text = message(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let handle = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        if !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        assert!(*ready);
        drop(ready);
        handle.join().unwrap();
    });
    assert!(text.contains("wakes up for no reason"), "{text}");
}

#[test]
fn places_are_those_of_the_model() {
    let text = message(|| {
        let first = Arc::new(String::new());
        let second = Arc::clone(&first);
        let handle = thread::spawn(move || drop(second));
        drop(first);
        handle.join().unwrap();
        let x = AtomicUsize::new(0);
        x.swap(3, Relaxed);
        assert_eq!(x.load(Relaxed), 0);
    });
    assert!(!text.contains("/rustc/") && !text.contains("src/sync/arc.rs"), "{text}");
    assert!(text.contains("after ") && text.contains("swap with 3"), "{text}");
}

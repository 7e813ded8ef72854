//! Counts of `Arc`s are what those of `std` are: who sees what, and what happens if there are too few references.

// Cells, and `Arc`s from pointers.
#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use selvedge::sync::{Arc, Weak};
use selvedge::{Builder, thread};
use std::collections::BTreeSet;
use std::sync::Mutex;

struct Shared(UnsafeCell<u32>);

// SAFETY: whether it is used by two threads at a time is what is looked for.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

fn failure(model: impl Fn() + Send + Sync + 'static) -> String {
    Builder::new().explore(model).failure.expect("it fails")
}

/// `strong_count` orders nothing, and nor does a drop that is not the last: it only releases.
#[test]
fn a_reference_that_is_not_the_last_acquires_nothing() {
    let failure = failure(|| {
        let a = Arc::new(Shared(UnsafeCell::new(0)));
        let (b, c) = (a.clone(), a.clone());
        let writer = thread::spawn(move || {
            // SAFETY: that is what is looked at.
            b.0.with_mut(|p| unsafe { *p = 1 });
            drop(b);
        });
        if Arc::strong_count(&a) == 2 {
            drop(c);
            // SAFETY: as above.
            a.0.with(|p| unsafe { *p });
        }
        writer.join().unwrap();
    });
    assert!(failure.starts_with("data-race"), "{failure}");
}

/// Who is the last acquires, by dropping it or by taking the value out.
#[test]
fn the_last_reference_sees_all() {
    struct Last(Shared);
    impl Drop for Last {
        fn drop(&mut self) {
            // SAFETY: nobody else has a reference any more.
            self.0.0.with_mut(|p| unsafe { *p += 1 });
        }
    }
    for takes in [false, true] {
        let stats = Builder::new().explore(move || {
            let a = Arc::new(Last(Shared(UnsafeCell::new(0))));
            let b = a.clone();
            let other = thread::spawn(move || {
                // SAFETY: the other thread does not look as long as there is this reference.
                b.0.0.with_mut(|p| unsafe { *p += 1 });
                drop(b);
            });
            if takes {
                drop(Arc::into_inner(a));
            } else {
                drop(a);
            }
            other.join().unwrap();
        });
        assert_eq!((stats.failure, stats.complete), (None, 2), "takes it out: {takes}");
    }
}

#[test]
fn what_is_not_there_yet_has_no_references() {
    let stats = Builder::new().explore(|| {
        let a = Arc::new_cyclic(|weak: &Weak<String>| {
            assert_eq!(weak.strong_count(), 0);
            assert!(weak.upgrade().is_none());
            String::new()
        });
        assert_eq!(Arc::strong_count(&a), 1);
        assert!(Arc::try_unwrap(a).is_ok());
    });
    assert_eq!(stats.failure, None);
}

#[test]
fn another_thread_may_come_before_the_value_is_there() {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let outcomes = seen.clone();
    let stats = Builder::new().explore(move || {
        let mut other = None;
        let _a = Arc::new_cyclic(|weak: &Weak<String>| {
            let weak = weak.clone();
            other = Some(thread::spawn(move || weak.upgrade().is_some()));
            String::new()
        });
        let upgraded = other.unwrap().join().unwrap();
        outcomes.lock().unwrap().insert(upgraded);
    });
    assert_eq!(stats.failure, None);
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([false, true]));
}

#[test]
fn a_reference_is_given_back_twice() {
    let failure = failure(|| {
        let p = Arc::into_raw(Arc::new(String::from("x")));
        // SAFETY: that there is no second one is what is found.
        unsafe {
            drop(Arc::from_raw(p));
            drop(Arc::from_raw(p));
        }
    });
    assert!(failure.starts_with("use-after-free"), "{failure}");
}

/// By two threads, in some schedules.
#[test]
fn a_reference_is_given_back_by_two() {
    let failure = failure(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let p = Arc::into_raw(Arc::new(String::from("x"))).expose_provenance();
        let again = Arc::clone(&x);
        // SAFETY: that there is no second one is what is found.
        let give_back = move || drop(unsafe { Arc::from_raw(std::ptr::with_exposed_provenance::<String>(p)) });
        let other = thread::spawn(move || {
            again.store(1, SeqCst);
            give_back();
        });
        if x.load(SeqCst) == 1 {
            give_back();
        }
        other.join().unwrap();
    });
    assert!(failure.starts_with("double-free") || failure.starts_with("use-after-free"), "{failure}");
}

#[test]
fn a_reference_is_made_after_the_value_was_freed() {
    let failure = failure(|| {
        let p = Arc::into_raw(Arc::new(String::from("x")));
        // SAFETY: that there is none any more is what is found.
        unsafe {
            Arc::decrement_strong_count(p);
            Arc::increment_strong_count(p);
        }
    });
    assert!(failure.starts_with("use-after-free"), "{failure}");
}

/// Where nothing is dropped, references are not counted, but still there are too few of them.
#[test]
fn so_it_is_where_references_are_not_counted() {
    let failure = failure(|| {
        let p = Arc::into_raw(Arc::new(7));
        // SAFETY: that there is no second one is what is found.
        unsafe {
            drop(Arc::from_raw(p));
            drop(Arc::from_raw(p));
        }
    });
    assert!(failure.starts_with("use-after-free"), "{failure}");
}

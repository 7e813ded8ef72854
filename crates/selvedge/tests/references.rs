//! `Arc`s that are made of pointers: their references are counted like others, whether the pointer comes from `into_raw` or from
//! `as_ptr`, as wakers and lists of tasks have it. And `Arc`s that are taken apart while others look.

#![allow(unsafe_code)]

use selvedge::model::Builder;
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::thread;
use std::collections::BTreeSet;
use std::mem::{ManuallyDrop, forget};

/// All that a model notes.
fn noted<T: Ord + Send + 'static>(body: impl Fn(&dyn Fn(T)) + Send + Sync + 'static) -> BTreeSet<T> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let inner = std::sync::Arc::clone(&seen);
    let stats = Builder::new().explore(move || {
        body(&|value| {
            inner.lock().unwrap().insert(value);
        });
    });
    assert_eq!(stats.failure, None);
    std::mem::take(&mut *seen.lock().unwrap())
}

/// A pointer that threads may pass on.
struct Passed(*const String);

// SAFETY: a `String` may be used by any thread.
unsafe impl Send for Passed {}

impl Passed {
    fn pointer(self) -> *const String {
        self.0
    }
}

#[test]
fn a_reference_that_was_forgotten_comes_back_by_its_pointer() {
    noted::<()>(|_| {
        let one = Arc::new("x".to_owned());
        let pointer = Arc::as_ptr(&one);
        forget(one);
        // SAFETY: the reference was forgotten.
        drop(unsafe { Arc::from_raw(pointer) });
    });
    noted::<()>(|_| {
        let one = Arc::new("x".to_owned());
        let pointer = Arc::as_ptr(&one);
        // SAFETY: the value lives, and what is added is taken away.
        unsafe { Arc::increment_strong_count(pointer) };
        drop(one);
        // SAFETY: as above.
        unsafe { Arc::decrement_strong_count(pointer) };
    });
}

#[test]
fn references_by_pointers_are_counted() {
    let counts = noted(|note| {
        let one = Arc::new("x".to_owned());
        let pointer = Passed(Arc::as_ptr(&one));
        // SAFETY: the value lives; the other thread drops this reference.
        unsafe { Arc::increment_strong_count(pointer.0) };
        // SAFETY: as above.
        let handle = thread::spawn(move || drop(unsafe { Arc::from_raw(pointer.pointer()) }));
        note(Arc::strong_count(&one));
        handle.join().unwrap();
        assert_eq!(Arc::strong_count(&one), 1);
    });
    assert_eq!(counts, BTreeSet::from([1, 2]));
}

/// Says who drops it.
struct Says(std::sync::Arc<std::sync::Mutex<BTreeSet<bool>>>);

impl Drop for Says {
    fn drop(&mut self) {
        self.0.lock().unwrap().insert(thread::current().name() == Some("other"));
    }
}

#[test]
fn either_thread_may_be_the_last() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let inner = std::sync::Arc::clone(&seen);
    let stats = Builder::new().explore(move || {
        let one = Arc::new(Says(std::sync::Arc::clone(&inner)));
        // SAFETY: this reference is never dropped; that of the other thread was cloned from it.
        let other = ManuallyDrop::new(unsafe { Arc::from_raw(Arc::as_ptr(&one)) });
        let other = Arc::clone(&other);
        let handle = thread::Builder::new().name("other".to_owned()).spawn(move || drop(other)).unwrap();
        drop(one);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([false, true]));
}

/// Whether an `Arc` could be unwrapped, and what others had done to the value then; whether a `Weak` could be upgraded.
fn unwraps_and_upgrades(unwraps_first: bool) -> BTreeSet<(Option<usize>, bool)> {
    noted(move |note| {
        let one = Arc::new(("x".to_owned(), AtomicUsize::new(0)));
        let weak = Arc::downgrade(&one);
        let unwrap = move || Arc::try_unwrap(one).ok().map(|(_, count)| count.load(SeqCst));
        let upgrade = move || {
            let Some(one) = weak.upgrade() else { return (false, weak) };
            one.1.fetch_add(1, SeqCst);
            one.1.fetch_add(1, SeqCst);
            drop(one);
            (true, weak)
        };
        let (unwrapped, (upgraded, weak)) = if unwraps_first {
            let handle = thread::spawn(upgrade);
            (unwrap(), handle.join().unwrap())
        } else {
            let handle = thread::spawn(unwrap);
            let upgraded = upgrade();
            (handle.join().unwrap(), upgraded)
        };
        assert_eq!(weak.strong_count(), 0);
        assert!(weak.upgrade().is_none());
        note((unwrapped, upgraded));
    })
}

#[test]
fn what_is_unwrapped_cannot_be_upgraded() {
    let all = BTreeSet::from([(Some(0), false), (Some(2), true), (None, true)]);
    assert_eq!(unwraps_and_upgrades(true), all);
    assert_eq!(unwraps_and_upgrades(false), all);
}

#[test]
fn a_pointer_of_which_nothing_is_known_is_refused() {
    let failure = Builder::new()
        .explore(|| {
            let one = ManuallyDrop::new(Arc::new("x".to_owned()));
            // SAFETY: the reference is not dropped otherwise.
            drop(unsafe { Arc::from_raw(&raw const **one) });
        })
        .failure
        .expect("it is refused");
    assert!(failure.contains("`Arc::from_raw` of a pointer that comes neither from"), "{failure}");
    assert!(failure.contains("references.rs"), "{failure}");
}

/// Whether the references are counted in the model, or by `std`.
#[test]
fn a_reference_that_is_given_back_twice_is_found_where_nothing_needs_to_be_dropped() {
    fn gives_back_twice<T: Send + Sync + 'static>(value: fn() -> T) {
        for elsewhere in [false, true] {
            let stats = Builder::new().explore(move || {
                let one = Arc::new(value());
                let other = Arc::clone(&one);
                let gives_back = move || {
                    // SAFETY: that it is given back once more is the bug.
                    unsafe { Arc::decrement_strong_count(Arc::as_ptr(&other)) };
                    drop(other);
                };
                match elsewhere {
                    true => thread::spawn(gives_back).join().unwrap(),
                    false => gives_back(),
                }
                drop(one);
            });
            let failure = stats.failure.expect("there are two references only");
            assert!(failure.contains("an `Arc` is dropped more often than there are references"), "{failure}");
        }
    }
    gives_back_twice(|| AtomicUsize::new(1));
    gives_back_twice(|| 1_u8);
    gives_back_twice(|| "counted".to_owned());
}

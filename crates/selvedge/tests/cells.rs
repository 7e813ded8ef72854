//! Accesses to cells last as long as their closures and pointers do.

// Cells are accessed through pointers.
#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Mutex};
use selvedge::thread;

struct Published {
    cell: UnsafeCell<i32>,
    flag: AtomicUsize,
    back: AtomicUsize,
}

// SAFETY: that it is used in the right way is what is checked.
unsafe impl Sync for Published {}
// SAFETY: as above.
unsafe impl Send for Published {}

/// A thread writes a cell and publishes it; the model's own thread reads it if it was published.
fn explore(write: impl Fn(&Published) + Send + Sync + Copy + 'static) -> selvedge::Stats {
    Builder::new().explore(move || {
        let (cell, flag, back) = (UnsafeCell::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Published { cell, flag, back });
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || write(&other));
        if shared.flag.load(Acquire) == 1 {
            // SAFETY: a race is reported before.
            shared.cell.with(|p| assert!(unsafe { *p } >= 0));
        }
        handle.join().unwrap();
    })
}

fn races(stats: &selvedge::Stats) -> String {
    let failure = stats.failure.clone().expect("there is a race");
    assert!(failure.starts_with("data-race: "), "{failure}");
    assert!(failure.contains("cells.rs:"), "{failure}");
    failure
}

#[test]
fn a_write_that_was_published_before_is_no_race() {
    let stats = explore(|shared| {
        // SAFETY: a race is reported before.
        shared.cell.with_mut(|p| unsafe { *p = 1 });
        shared.flag.store(1, Release);
    });
    assert_eq!(stats.failure, None);
    assert_eq!(stats.complete, 2);
}

#[test]
fn a_write_after_what_publishes_it_in_the_same_closure_is_a_race() {
    let stats = explore(|shared| {
        shared.cell.with_mut(|p| {
            shared.flag.store(1, Release);
            // SAFETY: a race is reported.
            unsafe { *p = 1 };
        });
    });
    assert!(races(&stats).contains("write by thread 1"));
}

#[test]
fn a_pointer_that_is_held_over_what_publishes_it_is_a_race() {
    let stats = explore(|shared| {
        let p = shared.cell.get_mut();
        // SAFETY: a race is reported.
        let cell = unsafe { p.deref() };
        shared.flag.store(1, Release);
        *cell = 1;
    });
    races(&stats);
}

/// As guards of locks do: they keep a pointer, and give the lock back before their fields are dropped.
struct Guard<'a>(&'a AtomicUsize, selvedge::cell::MutPtr<i32>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(1, Release);
    }
}

#[test]
fn a_pointer_that_a_guard_drops_after_it_has_given_a_lock_back_is_none() {
    let stats = explore(|shared| {
        let guard = Guard(&shared.flag, shared.cell.get_mut());
        // SAFETY: a race is reported before.
        unsafe { *guard.1.deref() = 1 };
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("guards give a lock back")), "{:?}", stats.not_covered);
}

#[test]
fn who_is_alone_races_with_nobody() {
    let stats = Builder::new().explore(|| {
        let (flag, cell) = (AtomicUsize::new(0), UnsafeCell::new(0));
        let guarded = || {
            let guard = Guard(&flag, cell.get_mut());
            // SAFETY: threads take turns.
            unsafe { *guard.1.deref() += 1 };
        };
        guarded();
        thread::spawn(|| ()).join().unwrap();
        guarded();
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
}

/// Hands a pointer to another thread.
struct Handed(selvedge::cell::MutPtr<i32>);
// SAFETY: the cell lives, and threads take turns.
unsafe impl Send for Handed {}

#[test]
fn a_pointer_may_be_dropped_by_another_thread() {
    let stats = Builder::new().explore(|| {
        let cell = Arc::new(Held(UnsafeCell::new(0)));
        let other = Arc::clone(&cell);
        let handed = thread::spawn(move || Handed(other.0.get_mut())).join().unwrap();
        drop(handed);
        cell.0.with_mut(|_| ());
    });
    assert_eq!(stats.failure, None);
    // It is used until then.
    let stats = Builder::new().explore(|| {
        let cell = Arc::new(Held(UnsafeCell::new(0)));
        let other = Arc::clone(&cell);
        let handed = thread::spawn(move || Handed(other.0.get_mut())).join().unwrap();
        let dropper = thread::spawn(move || {
            let Handed(pointer) = { handed };
            drop(pointer);
        });
        cell.0.with(|_| ());
        dropper.join().unwrap();
    });
    races(&stats);
}

struct Held(UnsafeCell<i32>);
// SAFETY: what is accessed at the same time is reported.
unsafe impl Sync for Held {}
// SAFETY: the same.
unsafe impl Send for Held {}

#[test]
fn a_pointer_that_lives_over_more_than_that_is_a_race() {
    let stats = explore(|shared| {
        let guard = Guard(&shared.back, shared.cell.get_mut());
        // SAFETY: a race is reported.
        unsafe { *guard.1.deref() = 1 };
        shared.flag.store(1, Release);
    });
    races(&stats);
}

#[test]
fn a_pointer_that_is_dropped_before_is_none() {
    let stats = explore(|shared| {
        let p = shared.cell.get_mut();
        // SAFETY: a race is reported before.
        unsafe { *p.deref() = 1 };
        drop(p);
        shared.flag.store(1, Release);
    });
    assert_eq!(stats.failure, None);
}

/// The read comes after the start of the write and before its end: there is no race, but two have a pointer.
#[test]
fn an_access_of_another_thread_in_the_middle_of_a_write_is_an_error() {
    let wait_for = |flag: &AtomicUsize| {
        while flag.load(Acquire) == 0 {
            selvedge::hint::spin_loop();
        }
    };
    let stats = Builder::new().explore(move || {
        let (cell, flag, back) = (UnsafeCell::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Published { cell, flag, back });
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.cell.with_mut(|_| {
                other.flag.store(1, Release);
                wait_for(&other.back);
            });
        });
        wait_for(&shared.flag);
        shared.cell.with(|_| ());
        shared.back.store(1, Release);
        handle.join().unwrap();
    });
    let failure = races(&stats);
    assert!(
        failure.contains("read here by main") && failure.contains("being written by thread 1 since here"),
        "{failure}"
    );
}

#[test]
fn what_is_unlocked_inside_the_closure_is_a_race() {
    struct Locked {
        lock: Mutex<()>,
        cell: UnsafeCell<i32>,
    }
    // SAFETY: that it is used in the right way is what is checked.
    unsafe impl Sync for Locked {}
    // SAFETY: as above.
    unsafe impl Send for Locked {}
    let explore = |early: bool| {
        Builder::new().explore(move || {
            let shared = Arc::new(Locked { lock: Mutex::new(()), cell: UnsafeCell::new(0) });
            let add = move |shared: &Locked| {
                let mut guard = Some(shared.lock.lock().unwrap());
                shared.cell.with_mut(|p| {
                    guard.take_if(|_| early);
                    // SAFETY: a race is reported.
                    unsafe { *p += 1 };
                });
            };
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || add(&other));
            add(&shared);
            handle.join().unwrap();
        })
    };
    assert_eq!(explore(false).failure, None);
    races(&explore(true));
}

#[test]
fn a_write_in_the_middle_of_an_access_of_the_same_thread_is_an_error() {
    let explore = |f: fn(&UnsafeCell<i32>)| {
        Builder::new().explore(move || {
            let cell = UnsafeCell::new(0);
            f(&cell);
            // Whatever has ended does not matter any more.
            cell.with_mut(|_| ());
        })
    };
    for wrong in [
        |cell: &UnsafeCell<i32>| cell.with(|_| cell.with_mut(|_| ())),
        |cell: &UnsafeCell<i32>| cell.with_mut(|_| cell.with(|_| ())),
        |cell: &UnsafeCell<i32>| cell.with_mut(|_| cell.with_mut(|_| ())),
        |cell: &UnsafeCell<i32>| {
            let p = cell.get();
            cell.with_mut(|_| ());
            drop(p);
        },
    ] {
        let failure = races(&explore(wrong));
        assert!(failure.contains("here by main") && failure.contains("by main since here"), "{failure}");
    }
    for right in [
        |cell: &UnsafeCell<i32>| cell.with(|_| cell.with(|_| ())),
        |cell: &UnsafeCell<i32>| drop((cell.get(), cell.get())),
        |cell: &UnsafeCell<i32>| {
            drop(cell.get_mut());
            drop(cell.get());
        },
    ] {
        assert_eq!(explore(right).failure, None);
    }
}

/// One access stands for all as long as nobody else can run.
#[test]
fn an_access_without_operations_is_one_operation() {
    let explore = |inside: bool| {
        let mut builder = Builder::new();
        builder.max_branches = if inside { 3 } else { 2 };
        let stats = builder.explore(move || {
            let (cell, x) = (UnsafeCell::new(0), AtomicUsize::new(0));
            cell.with(|_| inside.then(|| x.load(Relaxed)));
            (!inside).then(|| x.load(Relaxed));
        });
        assert_eq!(stats.failure, None);
    };
    explore(false);
    explore(true);
}

/// Who frees the cell in the middle of an access does not access it at its end.
#[test]
fn a_cell_may_be_freed_during_an_access() {
    let stats = Builder::new().explore(|| {
        let cell = Box::into_raw(Box::new((UnsafeCell::new(0), AtomicUsize::new(0))));
        // SAFETY: it comes from a box, and is not used after it was freed.
        unsafe {
            (*cell).0.with(|_| {
                (*cell).1.load(Relaxed);
                drop(Box::from_raw(cell));
                selvedge::sync::atomic::fence(Acquire);
            });
        }
    });
    assert_eq!(stats.failure, None);
}

//! Objects whose memory holds something else by now: one failure with its steps, whatever is found there.

// Pointers to what has moved or died.
#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize};
use selvedge::sync::{Condvar, Mutex, Once, RwLock};
use selvedge::thread;
use std::hint::black_box;
use std::mem::ManuallyDrop;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

/// An execution in which an object is used that is not there any more; the thread has spawned another one before.
#[track_caller]
fn is_gone(f: impl Fn() + Send + Sync + 'static) {
    let stats = explore(move || {
        thread::spawn(|| ()).join().unwrap();
        f();
    });
    let failure = stats.failure.expect("something is used that is gone");
    let words = [
        "use-after-free: an object is used whose memory holds something else by now: it has moved or died\n  at ",
        "overwritten.rs:",
        "  step  thread",
        "spawns thread 1",
        "to run this one execution again",
    ];
    for word in words {
        assert!(failure.contains(word), "`{word}` is not in:\n{failure}");
    }
    // The next model is explored as if nothing had happened.
    assert_eq!(explore(|| AtomicUsize::new(0).store(1, Relaxed)).failure, None);
}

/// What was read is looked at.
fn seen<T>(what: T) {
    black_box(what);
}

/// Where something is that was made in a frame which is left by now.
#[inline(never)]
fn left<T>(make: fn() -> T) -> usize {
    let value = ManuallyDrop::new(make());
    std::ptr::from_ref(black_box(&*value)).expose_provenance()
}

/// Calls others that use the stack where the frame was.
#[inline(never)]
fn overwrite(byte: u8) {
    let mut bytes = [0u8; 4096];
    bytes.fill(byte);
    black_box(&mut bytes);
}

/// Makes something in a frame, overwrites that, and uses it.
fn used_when_overwritten<T: 'static>(make: fn() -> T, used: fn(&T)) {
    for byte in [0x41, 0xff, 0x00, 0x01] {
        is_gone(move || {
            let place = left(make);
            overwrite(byte);
            let pointer: *const T = std::ptr::with_exposed_provenance(black_box(place));
            // SAFETY: none. The model has this bug, and the library has to say so.
            used(unsafe { &*pointer });
        });
    }
}

#[test]
fn a_cell_in_a_frame_that_was_left() {
    let reads = |cell: &UnsafeCell<usize>| cell.with(seen);
    used_when_overwritten(|| UnsafeCell::new(1), reads);
    let writes = |cell: &UnsafeCell<usize>| seen(cell.get_mut());
    used_when_overwritten(|| UnsafeCell::new(1), writes);
}

#[test]
fn an_atomic_in_a_frame_that_was_left() {
    used_when_overwritten(|| AtomicUsize::new(1), |x| x.store(2, Relaxed));
    used_when_overwritten(|| AtomicU8::new(1), |x| seen(x.fetch_add(2, Relaxed)));
    used_when_overwritten(|| AtomicBool::new(true), |x| seen(x.load(Relaxed)));
    used_when_overwritten(|| AtomicPtr::<u8>::new(std::ptr::null_mut()), |x| seen(x.load(Relaxed)));
}

#[test]
fn a_lock_in_a_frame_that_was_left() {
    used_when_overwritten(|| Mutex::new(1), |lock| seen(lock.lock()));
    used_when_overwritten(|| Mutex::new(1), |lock| seen(lock.try_lock()));
    used_when_overwritten(|| RwLock::new(1), |lock| seen(lock.read()));
    used_when_overwritten(Condvar::new, Condvar::notify_one);
    used_when_overwritten(Once::new, |once| once.call_once(|| ()));
}

/// Used before its frame is left, it has been met; but it does not remember that any more.
#[test]
fn what_was_used_before_it_died() {
    let make = || {
        let x = AtomicUsize::new(1);
        x.store(7, Relaxed);
        x
    };
    used_when_overwritten(make, |x| seen(x.load(Relaxed)));
}

enum Either {
    Atomic(AtomicUsize),
    Words([u64; 6]),
}

#[test]
fn a_variant_that_was_overwritten_by_another_one() {
    for word in [0, 7, 0x4141_4141_4141_4141] {
        is_gone(move || {
            let mut either = Either::Atomic(AtomicUsize::new(1));
            let Either::Atomic(x) = &either else { unreachable!() };
            let x = black_box(std::ptr::from_ref(x));
            // SAFETY: the variant is replaced by another one.
            unsafe { std::ptr::write(black_box(&raw mut either), Either::Words([word; 6])) };
            // SAFETY: none. The model has this bug.
            unsafe { (*x).store(1, Relaxed) };
            if let Either::Words(words) = either {
                seen(words);
            }
        });
    }
}

/// What an object remembers is the same, and all else is not.
#[test]
fn what_is_overwritten_but_for_what_it_remembers() {
    is_gone(|| {
        let x = Box::new(AtomicUsize::new(1));
        x.store(2, Relaxed);
        let words = black_box(Box::into_raw(x).cast::<u64>());
        let remembered = |word: u64| word >> 62 == 1;
        for n in 0..size_of::<AtomicUsize>() / 8 {
            // SAFETY: it is as large as that, and the model owns it.
            unsafe {
                if !remembered(*words.add(n)) {
                    *words.add(n) = 0x4141_4141_4141_4141;
                }
            }
        }
        // SAFETY: none. The model has this bug.
        unsafe { (*words.cast::<AtomicUsize>()).store(1, Relaxed) };
    });
}

/// As long as only one word of it is another one, that is noticed too.
#[test]
fn one_word_is_enough() {
    for n in 0..size_of::<AtomicUsize>() / 8 {
        for word in [0, 8, 0x4141_4141_4141_4141] {
            let stats = explore(move || {
                let x = Box::new(AtomicUsize::new(5));
                let words = black_box(Box::into_raw(x).cast::<u64>());
                // SAFETY: it is as large as that, and the model owns it.
                unsafe { *words.add(n) = word };
                // SAFETY: it may be none any more.
                let x = unsafe { Box::from_raw(words.cast::<AtomicUsize>()) };
                x.store(1, Relaxed);
            });
            // What it remembers tells nothing.
            if let Some(failure) = stats.failure {
                assert!(failure.contains("it has moved or died"), "word {n}, {word}: {failure}");
            } else {
                assert_eq!(stats.complete, 1, "word {n}, {word}");
            }
        }
    }
}

#[test]
fn memory_that_is_all_zero_is_no_object() {
    is_gone(|| {
        let zeroed = Box::new([0u64; 16]);
        let pointer = black_box(Box::into_raw(zeroed));
        // SAFETY: none. The model has this bug.
        unsafe { (*pointer.cast::<AtomicUsize>()).store(1, Relaxed) };
    });
    is_gone(|| {
        let zeroed = Box::new([0u64; 16]);
        let pointer = black_box(Box::into_raw(zeroed));
        // SAFETY: none. The model has this bug.
        unsafe { (*pointer.cast::<UnsafeCell<u64>>()).with(seen) };
    });
}

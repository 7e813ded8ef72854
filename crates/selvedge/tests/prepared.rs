//! Loops that wait for something and then use what its writer has prepared: a thread that is tried out is told only what has
//! been written.

#![allow(unsafe_code)]

use selvedge::model::{Builder, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::{hint, thread};
use std::cell::UnsafeCell;

fn wait(p: &AtomicPtr<usize>) -> usize {
    loop {
        let now = p.load(Acquire);
        if !now.is_null() {
            return unsafe { *now };
        }
        hint::spin_loop();
    }
}

/// A reader waits for what one of two writers has made.
fn pointers(wait: impl Fn(&AtomicPtr<usize>) -> usize + Copy + Send + Sync + 'static) {
    selvedge::model(move || {
        let p = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let reader = {
            let p = Arc::clone(&p);
            thread::spawn(move || {
                let n = wait(&p);
                p.load(Relaxed);
                n
            })
        };
        let writers: Vec<_> = (0..2)
            .map(|n| {
                let p = Arc::clone(&p);
                thread::spawn(move || {
                    p.load(Relaxed);
                    let own = Box::into_raw(Box::new(n));
                    p.swap(own, AcqRel);
                    own as usize
                })
            })
            .collect();
        let all: Vec<usize> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        assert!(reader.join().unwrap() < 2);
        all.into_iter().for_each(|p| drop(unsafe { Box::from_raw(p as *mut usize) }));
    });
}

#[test]
fn a_pointer_is_waited_for() {
    pointers(wait);
}

/// What was found is left in a variable.
#[inline(never)]
fn look(p: &AtomicPtr<usize>, last: &mut [usize; 4]) -> Option<usize> {
    let now = p.load(Acquire);
    if now.is_null() {
        last[0] = 1;
        return None;
    }
    last[0] = 0;
    Some(unsafe { *now })
}

fn wait_by_calls(p: &AtomicPtr<usize>) -> usize {
    let mut last = [0; 4];
    loop {
        if let Some(found) = look(p, std::hint::black_box(&mut last)) {
            return found;
        }
        hint::spin_loop();
    }
}

#[test]
fn a_pointer_is_waited_for_by_calls() {
    pointers(wait_by_calls);
}

/// Lists that writers link before they publish where they begin: 0 is the end of one.
struct Shared {
    first: AtomicUsize,
    next: UnsafeCell<[usize; 8]>,
}
// SAFETY: writers have nodes of their own, and the reader goes through what they have published.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

fn model(walk: fn(&Shared, usize) -> usize) {
    selvedge::model(move || {
        // Not linked yet: every node is its own next one.
        let shared = Arc::new(Shared { first: AtomicUsize::new(0), next: UnsafeCell::new([0, 1, 2, 3, 4, 5, 6, 7]) });
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let length = loop {
                    let first = shared.first.load(Acquire);
                    if first != 0 {
                        break walk(&shared, first);
                    }
                    hint::spin_loop();
                };
                shared.first.load(Relaxed);
                length
            })
        };
        let writers: Vec<_> = [1, 3]
            .into_iter()
            .map(|n| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.first.load(Relaxed);
                    unsafe {
                        let next = shared.next.get().cast::<usize>();
                        *next.add(n) = n + 1;
                        *next.add(n + 1) = 0;
                    }
                    shared.first.swap(n, AcqRel);
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(reader.join().unwrap(), 2);
    });
}

/// Where it is not linked it has no end.
#[test]
fn a_list_is_walked() {
    model(|shared, first| {
        let (mut at, mut length) = (first, 0);
        while at != 0 {
            at = unsafe { *shared.next.get().cast::<usize>().add(at) };
            length += 1;
        }
        length
    });
}

#[test]
fn a_list_that_is_not_linked_is_seen_by_nobody() {
    static SEEN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    model(|shared, first| {
        let next = unsafe { *shared.next.get().cast::<usize>().add(first) };
        if next == first {
            SEEN.fetch_add(1, Relaxed);
        }
        2
    });
    assert_eq!(SEEN.load(Relaxed), 0);
}

/// Waits for more than 2; what was found then, and before that.
#[inline(never)]
fn wait_for_more(x: &AtomicUsize, keeps: bool) -> (usize, usize) {
    let mut last = [0; 4];
    loop {
        let last = std::hint::black_box(&mut last);
        let now = x.load(Relaxed);
        if now > 2 {
            return (now, if keeps { last[0] } else { 0 });
        }
        last[0] = now;
        hint::spin_loop();
    }
}

/// A thread waits, in this place among those that write.
fn waiting(place: usize, writes: [&'static [usize]; 2], keeps: bool) -> Stats {
    Builder::new().explore(move || {
        let x = Arc::new(AtomicUsize::new(0));
        let mut writes = writes.into_iter();
        let handles = [0, 1, 2].map(|n| {
            let (x, writes) = (Arc::clone(&x), (n != place).then(|| writes.next()).flatten());
            thread::spawn(move || match writes {
                Some(values) => values.iter().for_each(|&value| x.store(value, Relaxed)),
                None => assert_ne!(wait_for_more(&x, keeps), (3, 1), "it has seen the other one"),
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    })
}

#[test]
fn a_look_that_fails_matters_whenever_its_value_is_written() {
    for place in 0..3 {
        for writes in [[&[1, 4][..], &[3]], [&[3], &[1, 4]]] {
            let failure = waiting(place, writes, true).failure;
            assert!(failure.is_some_and(|failure| failure.contains("it has seen the other one")), "{place} {writes:?}");
            let stats = waiting(place, writes, false);
            assert_eq!((stats.failure, stats.not_covered), (None, vec![]), "{place} {writes:?}");
        }
    }
}

/// Whether the n-th thread may find that it has waited for a lock, if it asks when so many have had it before.
fn notices_when(n: usize, so_many: usize) -> bool {
    #[inline(never)]
    fn take(locked: &AtomicBool) -> bool {
        !locked.swap(true, Acquire)
    }
    let stats = Builder::new().explore(move || {
        let shared = Arc::new((AtomicBool::new(false), selvedge::cell::UnsafeCell::new(0)));
        let handles = [0, 1, 2].map(|m| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut waited = false;
                while !std::hint::black_box(take as fn(&AtomicBool) -> bool)(&shared.0) {
                    *std::hint::black_box(&mut waited) = true;
                    hint::spin_loop();
                }
                // SAFETY: whoever holds the lock is alone.
                let before = shared.1.with_mut(|count| unsafe { std::mem::replace(&mut *count, *count + 1) });
                shared.0.store(false, Release);
                assert!((m, before) != (n, so_many) || !*std::hint::black_box(&mut waited), "it has waited");
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    stats.failure.is_some_and(|failure| failure.contains("it has waited"))
}

#[test]
fn a_look_that_fails_may_make_a_difference_for_what_others_have_left_in_memory() {
    // Whoever comes first has found the lock free.
    for n in 0..3 {
        assert_eq!([0, 1, 2, 3].map(|before| notices_when(n, before)), [false, true, true, false], "{n}");
    }
}

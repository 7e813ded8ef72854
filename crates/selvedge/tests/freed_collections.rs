//! What collections own and free, while others may still use it or when they have done so.

#![allow(unsafe_code)]

// Not all of it is used here.
#[allow(dead_code)]
#[path = "support/freeing.rs"]
mod freeing;

use freeing::{fails, passes};
use selvedge::sync::atomic::Ordering::{Relaxed, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, fence};
use selvedge::sync::{Arc, Mutex};
use selvedge::thread;
use std::collections::BTreeMap;

/// What a table has of something.
#[repr(C)]
struct Entry {
    index: usize,
    generation: usize,
    state: *mut AtomicUsize,
}

/// The first words of a node of a `BTreeMap` are a zero and its first key, and those of a table what is in it.
#[test]
fn numbers_in_memory_are_not_taken_for_counts() {
    for key in [0, 1, 7] {
        fails(&format!("the value of {key} in a map"), move || {
            let state = Box::new(AtomicUsize::new(0));
            let p = AtomicPtr::new((&raw const *state).cast_mut());
            let map = Arc::new(Mutex::new(BTreeMap::from([(key, state)])));
            let other = Arc::clone(&map);
            // SAFETY: it may have been freed: the model finds that out.
            let user = thread::spawn(move || unsafe { (*p.load(Relaxed)).store(1, Relaxed) });
            let owner = thread::spawn(move || {
                if let Some(state) = other.lock().unwrap().get_mut(&key) {
                    // The map has the pointer still when the block is freed.
                    #[allow(clippy::replace_box)]
                    {
                        *state = Box::new(AtomicUsize::new(0));
                    }
                }
            });
            user.join().unwrap();
            owner.join().unwrap();
        });
        fails(&format!("a table with 0 and {key}"), move || {
            let state = Box::into_raw(Box::new(AtomicUsize::new(0)));
            let table = Box::new([Entry { index: 0, generation: key, state }]);
            let (one, other) = (AtomicPtr::new(state), AtomicPtr::new(state));
            // SAFETY: it may have been freed: the model finds that out.
            let user = thread::spawn(move || unsafe { (*one.load(Relaxed)).store(1, Relaxed) });
            let owner = thread::spawn(move || {
                fence(SeqCst);
                // SAFETY: only this thread frees it.
                drop(unsafe { Box::from_raw(other.load(Relaxed)) });
            });
            user.join().unwrap();
            owner.join().unwrap();
            let [Entry { index, generation, state: same }] = *table;
            assert_eq!((index, generation, same), (0, key, state));
        });
    }
}

/// The first count of a value that `new_cyclic` makes is zero as long as it makes it.
#[test]
fn counts_are_known_though_they_begin_with_a_zero() {
    struct Value {
        state: Box<AtomicUsize>,
        own: std::sync::Weak<Value>,
    }
    passes("a value with a reference to itself", || {
        let made = AtomicUsize::new(0);
        let one = std::sync::Arc::new_cyclic(|own| {
            made.store(1, Relaxed);
            Value { state: Box::new(AtomicUsize::new(0)), own: own.clone() }
        });
        let other = std::sync::Arc::clone(&one);
        made.store(2, Relaxed);
        let handle = thread::spawn(move || other.own.upgrade().map(|value| value.state.store(1, Relaxed)));
        one.state.store(2, Relaxed);
        drop(one);
        handle.join().unwrap();
    });
}

/// Which of several blocks comes first when they are freed at once does not depend on where they lie: those of different threads
/// lie elsewhere in the next run.
#[test]
fn blocks_of_several_threads_are_freed_in_one_order() {
    // Each is a block of its own, which its vector frees.
    #[allow(clippy::vec_box)]
    fn push(list: &Mutex<Vec<Box<AtomicUsize>>>) {
        let mut list = list.lock().unwrap();
        list.push(Box::new(AtomicUsize::new(0)));
        for state in list.iter() {
            state.fetch_add(1, Relaxed);
        }
    }
    for joins in [false, true] {
        passes("a list that two threads push to", move || {
            let list = Arc::new(Mutex::new(Vec::new()));
            let handles = [0, 1].map(|_| {
                let other = Arc::clone(&list);
                thread::spawn(move || push(&other))
            });
            if joins {
                handles.into_iter().for_each(|handle| handle.join().unwrap());
            }
            list.lock().unwrap().clear();
        });
    }
}

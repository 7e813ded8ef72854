//! What attempts keep: boxes, guards, variables of their thread, and what others may see already.

use super::{Body, add, all_ways, together, words};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::cell::{Cell, RefCell};

/// What is allocated in an attempt is kept, given back, or grows.
#[test]
fn attempts_that_allocate() {
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut node = None;
                    let mut old = w[0].load(Acquire);
                    loop {
                        // Made by the first attempt only.
                        let node = node.get_or_insert_with(|| Box::new(AtomicUsize::new(7)));
                        node.store(old, Relaxed);
                        match w[0].compare_exchange(old, old + 1, AcqRel, Acquire) {
                            Ok(_) => return node.load(Relaxed),
                            Err(now) => old = now,
                        }
                    }
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a box that is made once", body, &[]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut seen = Vec::new();
                    loop {
                        let old = w[0].load(Acquire);
                        seen.push(old + 1);
                        if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                            return seen.iter().fold(0, |all, one| 10 * all + one);
                        }
                    }
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a list that grows", body, &[&[123, 0, 1], &[12, 0, 2]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut seen = Vec::with_capacity(4);
                    loop {
                        // Empties it, but what was in it is still there.
                        seen.clear();
                        let old = w[0].load(Acquire);
                        seen.push(old);
                        if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                            return seen[0] + 10 * seen.len();
                        }
                    }
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a list that is emptied", body, &[&[12, 0, 1]]);
}

/// A guard notes the end of every attempt, or of those that fail.
#[test]
fn guards() {
    struct Guard<'a>(&'a AtomicUsize);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let _guard = Guard(&w[1]);
                    let old = w[0].load(Acquire);
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old;
                    }
                },
                |w| add(&w[0]) + 10 * w[1].load(Relaxed),
                |w| add(&w[0]) + 10 * w[1].load(Relaxed),
            ],
        )
    };
    all_ways("a guard that others see", body, &[&[1, 10, 12]]);
    struct Own<'a>(&'a Cell<usize>, bool);
    impl Drop for Own<'_> {
        fn drop(&mut self) {
            if self.1 {
                self.0.set(self.0.get() + 1);
            }
        }
    }
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let fails = Cell::new(0);
                    let mut old = w[0].load(Acquire);
                    loop {
                        let mut guard = Own(&fails, true);
                        match w[0].compare_exchange(old, old + 1, AcqRel, Acquire) {
                            Ok(_) => {
                                guard.1 = false;
                                drop(guard);
                                return old + 10 * fails.get();
                            }
                            Err(now) => old = now,
                        }
                    }
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a guard that counts", body, &[&[22, 0, 1], &[12, 0, 1], &[2, 0, 1]]);
    // A lock is held in every attempt.
    let body: Body = || {
        together(
            (words(), selvedge::sync::Mutex::new(0)),
            [
                |(w, lock)| loop {
                    let mut count = lock.lock().unwrap();
                    *count += 1;
                    let old = w[0].load(Acquire);
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old + 10 * *count;
                    }
                },
                |(w, lock)| add(&w[0]) + 10 * *lock.lock().unwrap(),
                |(w, _)| add(&w[0]),
            ],
        )
    };
    all_ways("a lock", body, &[&[32, 20, 1]]);
}

selvedge::thread_local! {
    static SEEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static TIMES: Cell<usize> = const { Cell::new(0) };
}

/// Variables of the thread are used in attempts, by one loop and then by another.
#[test]
fn variables_of_threads() {
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    for _ in 0..2 {
                        loop {
                            let old = w[0].load(Acquire);
                            TIMES.set(TIMES.get() + 1);
                            if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                                break;
                            }
                        }
                    }
                    TIMES.get()
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("times", body, &[&[2, 0, 1], &[4, 0, 2]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut old = w[0].load(Acquire);
                    while let Err(now) = w[0].compare_exchange(old, old + 1, AcqRel, Acquire) {
                        SEEN.with_borrow_mut(|seen| seen.push(now));
                        old = now;
                    }
                    SEEN.with_borrow(|seen| seen.iter().fold(0, |all, one| 10 * all + one + 1))
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("seen", body, &[&[23, 0, 1], &[3, 0, 1]]);
}

/// The main thread has made everything, but what it stores there others see.
#[test]
fn the_main_thread_stores_to_what_it_has_made() {
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    w[2].store(old, Release);
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old;
                    }
                },
                |w| add(&w[0]) + 10 * w[2].load(Acquire),
            ],
        )
    };
    all_ways("made by main", body, &[&[1, 0], &[1, 10], &[1, 90]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut old = w[0].load(Relaxed);
                    loop {
                        w[2].store(old + 5, Relaxed);
                        match w[0].compare_exchange(old, old + 1, Relaxed, Relaxed) {
                            Ok(_) => return old,
                            Err(now) => old = now,
                        }
                    }
                },
                |w| add(&w[0]) + 10 * w[2].load(Relaxed) + 100 * w[2].load(Relaxed),
                |w| w[2].load(Relaxed) + 10 * w[2].load(Relaxed),
            ],
        )
    };
    all_ways("made by main, goes on", body, &[&[1, 550, 55], &[1, 650, 65], &[1, 650, 99]]);
    // What is stored is read again by the thread itself, later.
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let before = w[2].load(Relaxed);
                    loop {
                        let old = w[0].load(Acquire);
                        w[2].store(old + 5, Relaxed);
                        if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                            break;
                        }
                    }
                    before + 10 * w[2].load(Relaxed)
                },
                |w| add(&w[0]) + 10 * w[2].swap(3, AcqRel),
            ],
        )
    };
    all_ways("made by main, read again", body, &[]);
}

/// A node that its thread has made is published and then stored to in attempts.
#[test]
fn a_node_that_is_published_before() {
    type Node = std::sync::Arc<AtomicUsize>;
    let body: Body = || {
        together(
            (words(), selvedge::sync::Mutex::new(None::<Node>)),
            [
                |(w, node)| {
                    add(&w[0]);
                    let node = node.lock().unwrap().clone();
                    node.map_or(99, |node| node.load(Relaxed) + 10 * node.load(Relaxed))
                },
                |(w, node)| {
                    let own = Node::new(AtomicUsize::new(8));
                    *node.lock().unwrap() = Some(Node::clone(&own));
                    let mut old = w[0].load(Acquire);
                    loop {
                        own.store(old, Relaxed);
                        match w[0].compare_exchange(old, old + 1, AcqRel, Acquire) {
                            Ok(_) => return old,
                            Err(now) => old = now,
                        }
                    }
                },
            ],
        )
    };
    all_ways("published", body, &[&[0, 1], &[88, 1], &[11, 1], &[10, 1]]);
}

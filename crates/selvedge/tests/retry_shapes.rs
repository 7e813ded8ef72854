//! Loops that try an exchange again, as they are found in libraries: in generic functions and closures, within each other, with
//! guards and boxes, with checks that are made twice, and with all that could make an attempt that fails be noticed later.
//!
//! Whatever is taken together, the same outcomes are found as with attempts one by one, and under sequential consistency by
//! the trace engine, which takes nothing together.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, fence};
use selvedge::{assume, hint, thread};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Mutex;

type Outcomes = BTreeSet<Vec<usize>>;
type Body = fn() -> Vec<usize>;

fn explore(body: Body, model: MemoryModel, engine: Engine, one_by_one: bool) -> (Outcomes, Stats) {
    let outcomes = std::sync::Arc::new(Mutex::new(Outcomes::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.engine = engine;
    builder.spurious = false;
    builder.attempts_one_by_one = one_by_one;
    let stats = builder.explore(move || {
        let found = body();
        if !selvedge::model::is_tried_out() {
            noted.lock().unwrap().insert(found);
        }
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats)
}

/// Explores a model in all ways. It has all its outcomes in each of them, and these are among them.
fn all_ways(name: &str, body: Body, among: &[&[usize]]) -> Stats {
    let mut usual = None;
    for model in [MemoryModel::Rc11, MemoryModel::Ra, MemoryModel::Tso, MemoryModel::Sc] {
        let (expected, all) = explore(body, model, Engine::Graph, true);
        assert_eq!(all.failure, None, "{name} {model:?}, one by one");
        let (found, stats) = explore(body, model, Engine::Graph, false);
        assert_eq!(stats.failure, None, "{name} {model:?}");
        assert_eq!(found, expected, "{name} {model:?}: {:?}", stats.notes);
        assert!(stats.complete <= all.complete, "{name} {model:?}: {} of {}", stats.complete, all.complete);
        if model == MemoryModel::Rc11 {
            for outcome in among {
                assert!(found.contains(*outcome), "{name}: {outcome:?} is not among {found:?}");
            }
            usual = Some(stats);
        }
        if model == MemoryModel::Sc {
            let (found, stats) = explore(body, model, Engine::Trace, false);
            assert_eq!(stats.failure, None, "{name}, trace engine");
            assert_eq!(found, expected, "{name}, trace engine");
        }
    }
    usual.expect("one model is the usual one")
}

/// Runs what threads do with what they share, the last one as the main thread.
fn together<S: Send + Sync + 'static, const N: usize>(shared: S, threads: [fn(&S) -> usize; N]) -> Vec<usize> {
    let shared = Arc::new(shared);
    let handles: Vec<_> = threads[1..]
        .iter()
        .map(|&each| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || each(&shared))
        })
        .collect();
    let mut found = vec![threads[0](&shared)];
    found.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
    found
}

type Words = [AtomicUsize; 3];

fn words() -> Words {
    [0, 0, 9].map(AtomicUsize::new)
}

fn add(x: &AtomicUsize) -> usize {
    x.fetch_add(1, AcqRel)
}

/// One attempt, in a function that loops and others call.
#[inline(never)]
fn attempt(x: &AtomicUsize, new: impl Fn(usize) -> usize) -> Result<usize, usize> {
    let old = x.load(Acquire);
    x.compare_exchange(old, new(old), AcqRel, Acquire)
}

/// The same places are those of a loop and of an attempt that is made once: that one may fail.
#[test]
fn an_attempt_that_is_shared_by_a_loop_and_by_who_tries_once() {
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    if let Ok(old) = attempt(&w[0], |old| old + 1) {
                        return old;
                    }
                },
                |w| attempt(&w[0], |old| old + 10).unwrap_or_else(|found| 100 + found),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("shared", body, &[&[0, 101, 1], &[10, 0, 11]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| attempt(&w[0], |old| old + 10).unwrap_or_else(|found| 100 + found),
                |w| {
                    (0..3)
                        .find_map(|tries| attempt(&w[0], |old| old + 1).ok().map(|old| old + 100 * tries))
                        .unwrap_or(999)
                },
                |w| add(&w[0]) + 10 * add(&w[0]),
            ],
        )
    };
    all_ways("shared and counted", body, &[]);
}

/// The word is a parameter, so one loop is of many words and sizes.
#[test]
fn a_generic_loop() {
    trait Word: Copy + PartialEq {
        type Atomic;
        fn load(of: &Self::Atomic) -> Self;
        fn exchange(of: &Self::Atomic, old: Self, new: Self) -> Result<Self, Self>;
    }
    macro_rules! word {
        ($word:ty, $atomic:ty) => {
            impl Word for $word {
                type Atomic = $atomic;
                fn load(of: &$atomic) -> $word {
                    of.load(Acquire)
                }
                fn exchange(of: &$atomic, old: $word, new: $word) -> Result<$word, $word> {
                    of.compare_exchange(old, new, AcqRel, Acquire)
                }
            }
        };
    }
    word!(u8, AtomicU8);
    word!(u32, AtomicU32);
    fn update<W: Word>(of: &W::Atomic, mut f: impl FnMut(W) -> W) -> W {
        let mut old = W::load(of);
        loop {
            match W::exchange(of, old, f(old)) {
                Ok(old) => return old,
                Err(now) => old = now,
            }
        }
    }
    let body: Body = || {
        together(
            (AtomicU8::new(255), AtomicU32::new(7)),
            [
                |(a, b)| update::<u8>(a, |n| n.wrapping_add(1)) as usize + 1000 * update::<u32>(b, |n| n * 2) as usize,
                |(a, b)| update::<u32>(b, |n| n + 1) as usize + 1000 * update::<u8>(a, |n| n.wrapping_sub(2)) as usize,
                |(a, _)| update::<u8>(a, |n| n ^ 3) as usize,
            ],
        )
    };
    all_ways("generic", body, &[]);
    // The closure counts.
    let body: Body = || {
        together(
            (AtomicU8::new(0), AtomicU32::new(7)),
            [
                |(a, _)| {
                    let mut calls = 0;
                    let old = update::<u8>(a, |n| {
                        calls += 1;
                        n + 1
                    });
                    old as usize + 10 * calls
                },
                |(a, _)| update::<u8>(a, |n| n + 1) as usize,
                |(a, _)| update::<u8>(a, |n| n + 1) as usize,
            ],
        )
    };
    all_ways("generic, counting", body, &[&[10, 1, 2], &[32, 0, 1]]);
}

/// In each attempt of one loop there is another loop.
#[test]
fn loops_within_each_other() {
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut old = w[0].load(Acquire);
                    loop {
                        let mut inner = w[1].load(Acquire);
                        while let Err(now) = w[1].compare_exchange(inner, inner + 1, AcqRel, Acquire) {
                            inner = now;
                        }
                        match w[0].compare_exchange(old, old + 1, AcqRel, Acquire) {
                            Ok(_) => return old + 10 * inner,
                            Err(now) => old = now,
                        }
                    }
                },
                |w| add(&w[0]) + 10 * w[1].load(Acquire),
                |w| add(&w[1]),
            ],
        )
    };
    all_ways("within", body, &[&[11, 20, 2]]);
    // The one within is on the same word.
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    let again = loop {
                        let now = w[0].load(Acquire);
                        if w[0].compare_exchange(now, now ^ 4, AcqRel, Acquire).is_ok() {
                            break now ^ 4;
                        }
                    };
                    if w[0].compare_exchange(again, old + 1, AcqRel, Acquire).is_ok() {
                        return old;
                    }
                },
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("within, the same word", body, &[]);
}

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

/// The loop is left with `?`, or returns, depending on what was found or seen.
#[test]
fn loops_that_return_early() {
    fn take(w: &Words) -> Result<usize, usize> {
        let mut old = w[0].load(Acquire);
        let mut tries = 0;
        loop {
            let next = old.checked_sub(1).ok_or(50 + tries)?;
            match w[0].compare_exchange(old, next, AcqRel, Acquire) {
                Ok(_) => return Ok(old),
                Err(7) => return Err(70),
                Err(now) => old = now,
            }
            tries += usize::from(next == 1);
        }
    }
    let body: Body = || {
        together(
            [2, 0, 9].map(AtomicUsize::new),
            [
                |w| take(w).unwrap_or_else(|why| why),
                |w| take(w).unwrap_or_else(|why| why),
                |w| take(w).unwrap_or_else(|why| why),
            ],
        )
    };
    all_ways("taken", body, &[&[51, 2, 1], &[50, 2, 1]]);
    let body: Body = || {
        together(
            [2, 0, 9].map(AtomicUsize::new),
            [|w| take(w).unwrap_or_else(|why| why), |w| take(w).unwrap_or_else(|why| why), |w| w[0].swap(7, AcqRel)],
        )
    };
    all_ways("taken away", body, &[&[70, 2, 1]]);
    // The other word says that it is over.
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut tries = 0;
                    loop {
                        let old = w[0].load(Acquire);
                        if w[1].load(Acquire) != 0 {
                            return 100 + tries;
                        }
                        if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                            return old;
                        }
                        tries += 1;
                    }
                },
                |w| {
                    let old = add(&w[0]);
                    w[1].store(1, Release);
                    old
                },
            ],
        )
    };
    all_ways("over", body, &[&[101, 0], &[100, 0]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    assume(w[1].load(Acquire) == 0);
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old;
                    }
                },
                |w| {
                    let old = add(&w[0]);
                    w[1].store(1, Release);
                    old
                },
            ],
        )
    };
    all_ways("assumed", body, &[&[1, 0]]);
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

/// As with hazard pointers: what was loaded is announced, and is loaded again before it is used.
#[test]
fn what_is_loaded_is_announced_and_checked() {
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    w[1].store(old + 1, SeqCst);
                    if w[0].load(SeqCst) != old {
                        continue;
                    }
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        w[1].store(0, Release);
                        return old;
                    }
                },
                |w| {
                    let old = w[0].fetch_add(1, SeqCst);
                    old + 10 * w[1].load(SeqCst)
                },
            ],
        )
    };
    all_ways("announced", body, &[&[1, 10], &[1, 20], &[1, 0]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Relaxed);
                    fence(SeqCst);
                    let other = w[1].load(Relaxed);
                    if w[0].load(Acquire) != old {
                        continue;
                    }
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old + 10 * other;
                    }
                },
                |w| {
                    w[1].store(1, Relaxed);
                    let old = add(&w[0]);
                    w[1].store(2, Relaxed);
                    old
                },
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a snapshot", body, &[]);
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    let other = w[1].load(Acquire);
                    if old != w[0].load(Acquire) {
                        continue;
                    }
                    let new = if other == 0 { old + 1 } else { old + 2 };
                    if w[0].compare_exchange(old, new, AcqRel, Acquire).is_ok() {
                        return old + 10 * other;
                    }
                },
                |w| {
                    let old = add(&w[0]);
                    w[1].store(1, Release);
                    old
                },
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("checked", body, &[&[12, 0, 1], &[11, 0, 3]]);
}

/// A sequence lock: readers look until the sequence is even, and the same before and after.
#[test]
fn sequence_locks() {
    fn read(w: &Words) -> usize {
        loop {
            let before = w[0].load(Acquire);
            if before % 2 == 1 {
                hint::spin_loop();
                continue;
            }
            let found = [&w[1], &w[2]].map(|x| x.load(Relaxed));
            fence(Acquire);
            if w[0].load(Relaxed) == before {
                return before + 10 * found[0] + 100 * found[1];
            }
            hint::spin_loop();
        }
    }
    fn write(w: &Words, value: usize) -> usize {
        let mut old = w[0].load(Relaxed);
        loop {
            if old % 2 == 1 {
                hint::spin_loop();
                old = w[0].load(Relaxed);
                continue;
            }
            match w[0].compare_exchange_weak(old, old + 1, Acquire, Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        fence(Release);
        w[1].store(value, Relaxed);
        w[2].store(value, Relaxed);
        w[0].store(old + 2, Release);
        old
    }
    let body: Body = || together([0; 3].map(AtomicUsize::new), [read, |w| write(w, 1)]);
    all_ways("a reader and a writer", body, &[&[0, 0], &[112, 0]]);
    let body: Body = || together([0; 3].map(AtomicUsize::new), [|w| write(w, 2), |w| write(w, 1)]);
    all_ways("two writers", body, &[&[0, 2], &[2, 0]]);
    let body: Body = || {
        let found = together([0; 3].map(AtomicUsize::new), [read, |w| write(w, 2), |w| write(w, 1)]);
        assert!([0, 112, 222, 114, 224].contains(&found[0]), "{found:?}");
        found
    };
    all_ways("a reader and two writers", body, &[&[112, 2, 0], &[114, 0, 2], &[0, 0, 2]]);
}

/// The epoch is pinned, and advanced if nobody is behind.
#[test]
fn epochs() {
    fn pin(w: &Words, own: &AtomicUsize) -> usize {
        loop {
            let epoch = w[0].load(Relaxed);
            own.store(2 * epoch + 1, SeqCst);
            if w[0].load(SeqCst) == epoch {
                return epoch;
            }
        }
    }
    fn advance(w: &Words, others: &[&AtomicUsize]) -> usize {
        let epoch = w[0].load(SeqCst);
        for other in others {
            let other = other.load(SeqCst);
            if other % 2 == 1 && other / 2 != epoch {
                return 100;
            }
        }
        w[0].compare_exchange(epoch, epoch + 1, AcqRel, Acquire).unwrap_or_else(|now| 200 + now)
    }
    let body: Body = || {
        together(
            [0; 3].map(AtomicUsize::new),
            [|w| pin(w, &w[1]) + 1000 * advance(w, &[&w[2]]), |w| pin(w, &w[2]) + 1000 * advance(w, &[&w[1]])],
        )
    };
    all_ways("two who pin and advance", body, &[&[100_001, 0], &[0, 201_000]]);
}

/// What `fetch_update` calls has side effects, always or with some values only.
#[test]
fn updates_with_side_effects() {
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut log = Vec::with_capacity(4);
                    let old = w[0].fetch_update(AcqRel, Acquire, |old| {
                        if old == 1 {
                            log.push(old);
                        }
                        Some(old + 1)
                    });
                    old.unwrap() + 10 * log.len()
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a log of some", body, &[&[11, 0, 2], &[12, 0, 1], &[2, 0, 1]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let last = Box::new(Cell::new(9));
                    let old = w[0].fetch_update(AcqRel, Acquire, |old| {
                        let new = (last.get() == 9).then_some(old + 1);
                        last.set(old);
                        new
                    });
                    old.unwrap_or_else(|old| 100 + old)
                },
                |w| add(&w[0]),
                |w| {
                    w[0].fetch_update(AcqRel, Acquire, |old| (old < 2).then_some(old + 1))
                        .unwrap_or_else(|old| 50 + old)
                },
            ],
        )
    };
    all_ways("once only", body, &[&[101, 0, 1], &[102, 0, 1], &[2, 0, 1]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    w[0].fetch_update(AcqRel, Acquire, |old| {
                        w[1].store(old + 1, Relaxed);
                        Some(old + 1)
                    })
                    .unwrap()
                },
                |w| add(&w[0]) + 10 * w[1].load(Relaxed),
                |w| w[0].fetch_update(AcqRel, Acquire, |old| Some(old + 1)).unwrap(),
            ],
        )
    };
    all_ways("others see it", body, &[&[1, 10, 2], &[1, 20, 2], &[2, 20, 1]]);
    // Its own loop is within another one.
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let inner = w[1].fetch_update(AcqRel, Acquire, |old| Some(old + 1)).unwrap();
                    let old = w[0].load(Acquire);
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old + 10 * inner;
                    }
                },
                |w| add(&w[0]) + 10 * w[1].load(Relaxed),
            ],
        )
    };
    all_ways("within a loop", body, &[&[11, 10], &[11, 20], &[1, 10]]);
}

/// As futures are polled: whether to go on is decided by what was found, and a flag says that there is something to do.
#[test]
fn polls() {
    #[derive(Clone, Copy, PartialEq)]
    enum Poll {
        Ready(usize),
        Pending,
    }
    fn poll(w: &Words, state: &mut usize) -> Poll {
        if *state == 0 {
            let old = w[0].load(Acquire);
            if old == 0 {
                return Poll::Pending;
            }
            if w[0].compare_exchange(old, old - 1, AcqRel, Acquire).is_err() {
                return Poll::Pending;
            }
            *state = old;
        }
        match w[1].load(Acquire) {
            0 => Poll::Pending,
            other => Poll::Ready(*state + 10 * other),
        }
    }
    fn run(w: &Words) -> usize {
        let mut state = 0;
        loop {
            if let Poll::Ready(value) = poll(w, &mut state) {
                return value;
            }
            thread::yield_now();
        }
    }
    let body: Body = || {
        together(
            [1, 0, 0].map(AtomicUsize::new),
            [run, run, |w| {
                w[0].fetch_add(1, AcqRel);
                w[1].store(1, Release);
                0
            }],
        )
    };
    all_ways("two who poll", body, &[&[11, 12, 0], &[12, 11, 0], &[11, 11, 0]]);
}

/// The value comes back: an attempt that fails has found what it had loaded an attempt before.
#[test]
fn values_that_come_back() {
    // The last thread has seen the first value, and not that it has changed and come back.
    let body: Body = || {
        together(
            words(),
            [
                |w| w[0].compare_exchange(0, 1, AcqRel, Acquire).unwrap_or(9),
                |w| w[0].compare_exchange(1, 0, AcqRel, Acquire).unwrap_or(9),
                |w| {
                    let first = w[0].load(Relaxed);
                    let mut seen = 0;
                    let mut old = w[0].load(Acquire);
                    while let Err(now) = w[0].compare_exchange(old, old + 2, AcqRel, Acquire) {
                        seen += usize::from(old == 1);
                        old = now;
                    }
                    first + 10 * old + 100 * seen
                },
            ],
        )
    };
    all_ways("there and back", body, &[&[0, 1, 100]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let first = w[0].load(Relaxed);
                    let mut seen = 0;
                    loop {
                        let old = w[0].load(Acquire);
                        if w[0].compare_exchange(old, old + 2, AcqRel, Acquire).is_ok() {
                            return first + 10 * old + 100 * seen;
                        }
                        seen += usize::from(old == 1);
                    }
                },
                |w| w[0].compare_exchange(0, 1, AcqRel, Acquire).unwrap_or(9),
                |w| w[0].compare_exchange(1, 0, AcqRel, Acquire).unwrap_or(9),
            ],
        )
    };
    all_ways("there and back, main", body, &[&[100, 0, 1]]);
    // Only if it was the first value, or looked like it, there is a loop.
    let body: Body = || {
        together(
            words(),
            [
                |w| w[0].compare_exchange(0, 1, AcqRel, Acquire).unwrap_or(9),
                |w| w[0].compare_exchange(1, 0, AcqRel, Acquire).unwrap_or(9),
                |w| {
                    if w[0].load(Relaxed) != 0 {
                        return 99;
                    }
                    let mut seen = 0;
                    let mut old = w[0].load(Acquire);
                    while let Err(now) = w[0].compare_exchange(old, old + 2, AcqRel, Acquire) {
                        seen += usize::from(old == 1);
                        old = now;
                    }
                    10 * old + 100 * seen
                },
            ],
        )
    };
    all_ways("there and back, or not at all", body, &[&[0, 1, 100]]);
}

/// The orders of the load and of the exchange that fails decide what the thread has seen then.
#[test]
fn what_an_attempt_that_fails_acquires() {
    fn run<const LOAD: usize, const FAILURE: usize>(w: &Words) -> usize {
        const ORDERS: [Ordering; 3] = [Relaxed, Acquire, SeqCst];
        let mut old = w[0].load(ORDERS[LOAD]);
        while let Err(now) = w[0].compare_exchange(old, old + 1, Relaxed, ORDERS[FAILURE]) {
            old = now;
        }
        old + 10 * w[1].load(Relaxed)
    }
    fn publish(w: &Words) -> usize {
        w[1].store(1, Relaxed);
        w[0].fetch_add(1, Release)
    }
    macro_rules! each {
        ($($load:literal $failure:literal)*) => {
            $(
                let body: Body = || together(words(), [run::<$load, $failure>, publish, |w| add(&w[0])]);
                all_ways(stringify!($load, $failure), body, &[]);
            )*
        };
    }
    each!(0 0 0 1 0 2 1 0 1 1 1 2 2 0 2 1 2 2);
}

/// A flag that is taken with an exchange and given back with a store: attempts are polls of the flag.
#[test]
fn flags_that_are_taken() {
    fn lock(flag: &AtomicBool) -> usize {
        let mut spins = 0;
        while flag.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            while flag.load(Relaxed) {
                hint::spin_loop();
            }
            spins = 1;
        }
        spins
    }
    let body: Body = || {
        together(
            (AtomicBool::new(false), AtomicUsize::new(0)),
            [
                |(flag, count)| {
                    let spins = lock(flag);
                    let now = count.load(Relaxed);
                    count.store(now + 1, Relaxed);
                    flag.store(false, Release);
                    now + 10 * spins
                },
                |(flag, count)| {
                    lock(flag);
                    let now = count.load(Relaxed);
                    count.store(now + 1, Relaxed);
                    flag.store(false, Release);
                    now
                },
            ],
        )
    };
    all_ways("a lock that notes whether it has waited", body, &[&[0, 1], &[1, 0], &[11, 0]]);
}

/// Leaves nothing on the stack of its caller.
#[inline(never)]
#[track_caller]
fn exchange(x: &AtomicUsize, old: usize, new: usize) -> bool {
    x.compare_exchange(old, new, AcqRel, Acquire).is_ok()
}

/// Which exchange comes after the load depends on what was found: one may fail, and then the other one is made.
#[test]
fn two_exchanges_after_one_load() {
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut fails = 0;
                    loop {
                        let old = w[0].load(Acquire);
                        if old % 2 == 0 {
                            if w[0].compare_exchange(old, old + 10, AcqRel, Acquire).is_ok() {
                                return old + 100 * fails;
                            }
                        } else {
                            if w[0].compare_exchange(old, old + 20, AcqRel, Acquire).is_ok() {
                                return old + 100 * fails;
                            }
                            fails += 1;
                        }
                    }
                },
                |w| add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("even and odd", body, &[&[2, 0, 1], &[102, 0, 1]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| add(&w[0]),
                |w| add(&w[0]),
                |w| {
                    let mut fails = 0;
                    let mut old = w[0].load(Acquire);
                    loop {
                        let result = match old {
                            0 => w[0].compare_exchange(old, 10, AcqRel, Acquire),
                            1 => w[0].compare_exchange(old, 20, AcqRel, Acquire),
                            _ => w[0].compare_exchange(old, 30, AcqRel, Acquire),
                        };
                        match result {
                            Ok(_) => return old + 100 * fails,
                            Err(now) => {
                                fails += usize::from(old == 1);
                                old = now;
                            }
                        }
                    }
                },
            ],
        )
    };
    all_ways("three that go on", body, &[&[0, 1, 2], &[0, 1, 102]]);
    // The other one is found when the first is known, and fails before it. Attempts leave nothing else on the stack.
    #[inline(never)]
    fn attempt(x: &AtomicUsize, fails: &Cell<usize>) -> usize {
        let old = x.load(Acquire);
        if old != 2 {
            return if exchange(x, old, old + 10) { old } else { 99 };
        }
        if exchange(x, old, old + 20) {
            return old;
        }
        fails.set(fails.get() + 1);
        99
    }
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let fails = Box::new(Cell::new(0));
                    loop {
                        let old = attempt(&w[0], &fails);
                        if old != 99 {
                            return old + 100 * fails.get();
                        }
                    }
                },
                |w| add(&w[0]) + 10 * add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("one of four", body, &[&[3, 10, 2], &[103, 10, 2]]);
    // The same with a look at something else on the way: nobody else may do without confirmation then.
    #[inline(never)]
    fn attempt_with_look(w: &Words, fails: &Cell<usize>) -> usize {
        let old = w[0].load(Acquire);
        if old != 2 {
            let other = w[1].load(Acquire);
            return if exchange(&w[0], old, old + 10 + other) { old } else { 99 };
        }
        let other = w[1].load(Acquire);
        if exchange(&w[0], old, old + 20 + other) {
            return old;
        }
        fails.set(fails.get() + 1);
        99
    }
    #[inline(never)]
    fn count(x: &AtomicUsize) -> usize {
        loop {
            let old = x.load(Acquire);
            if exchange(x, old, old + 1) {
                return old;
            }
        }
    }
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let fails = Box::new(Cell::new(0));
                    loop {
                        let old = attempt_with_look(w, &fails);
                        if old != 99 {
                            return old + 100 * fails.get();
                        }
                    }
                },
                |w| count(&w[0]) + 10 * count(&w[0]),
                |w| count(&w[0]),
            ],
        )
    };
    all_ways("one of four, with a look", body, &[&[3, 10, 2], &[103, 10, 2]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let mut fails = 0;
                    let mut old = w[0].load(Acquire);
                    loop {
                        let result = match old {
                            2 => w[0].compare_exchange(old, old + 10, AcqRel, Acquire),
                            _ => w[0].compare_exchange(old, old + 20, AcqRel, Acquire),
                        };
                        match result {
                            Ok(_) => return old + 100 * fails,
                            Err(now) => {
                                fails += usize::from(old == 2);
                                old = now;
                            }
                        }
                    }
                },
                |w| add(&w[0]) + 10 * add(&w[0]),
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("one of four that goes on", body, &[&[3, 10, 2], &[103, 10, 2]]);
}

/// With some value the function of an update panics: there is such an attempt, even if its exchange would fail.
#[test]
fn an_update_that_panics_with_some_value() {
    for one_by_one in [true, false] {
        let body: Body = || {
            together(
                words(),
                [
                    |w| {
                        let update = |old: usize| {
                            assert!(old != 1, "it is one");
                            Some(old + 10)
                        };
                        w[0].fetch_update(AcqRel, Acquire, update).unwrap()
                    },
                    |w| add(&w[0]) + 10 * add(&w[0]),
                ],
            )
        };
        let (_, stats) = explore(body, MemoryModel::Rc11, Engine::Graph, one_by_one);
        assert!(stats.failure.as_ref().is_some_and(|failure| failure.contains("it is one")), "{stats:?}");
    }
}

/// The loop is left before the load that an attempt begins with, or by something else on the way to it.
#[test]
fn loops_that_are_left_before_the_load() {
    #[inline(never)]
    fn attempt(w: &Words, fails: &Cell<usize>) -> usize {
        if w[1].load(Acquire) != 0 {
            return 100;
        }
        // Whoever comes to the exchange does not know of what was before.
        fails.set(0);
        let old = w[0].load(Acquire);
        if exchange(&w[0], old, old + 1) {
            return old;
        }
        fails.set(1);
        99
    }
    fn run(w: &Words) -> usize {
        let fails = Box::new(Cell::new(0));
        loop {
            let old = attempt(w, &fails);
            if old != 99 {
                return old + 1000 * fails.get();
            }
        }
    }
    let body: Body = || {
        together(
            words(),
            [run, |w| {
                let old = add(&w[0]);
                w[1].store(1, Release);
                old
            }],
        )
    };
    all_ways("a flag before", body, &[&[100, 0], &[1100, 0]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| {
                    let old = add(&w[0]);
                    w[1].store(1, Release);
                    old
                },
                run,
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a flag before, in a thread", body, &[&[0, 100, 1], &[0, 1100, 1], &[1, 1100, 0]]);
}

/// An attempt that fails looks at a word that the one which is made does not look at, and that is written when all else is
/// done.
#[test]
fn words_that_only_attempts_that_fail_look_at() {
    #[inline(never)]
    fn attempt(w: &Words, seen: &Cell<usize>) -> usize {
        let old = w[0].load(Acquire);
        let other = if old == 0 { w[1].load(Acquire) } else { 0 };
        if exchange(&w[0], old, old + 1) {
            return old;
        }
        if other == 1 {
            seen.set(seen.get() + 1);
        }
        99
    }
    fn run(w: &Words) -> usize {
        let seen = Box::new(Cell::new(0));
        loop {
            let old = attempt(w, &seen);
            if old != 99 {
                return old + 10 * seen.get();
            }
        }
    }
    #[inline(never)]
    fn count(w: &Words) -> usize {
        loop {
            let old = w[0].load(Acquire);
            if exchange(&w[0], old, old + 1) {
                return old;
            }
        }
    }
    fn write(w: &Words) -> usize {
        w[1].store(1, Release);
        0
    }
    let bodies: [(&str, Body); 6] = [
        ("0 1 2", || together(words(), [run, count, write])),
        ("0 2 1", || together(words(), [run, write, count])),
        ("1 0 2", || together(words(), [count, run, write])),
        ("1 2 0", || together(words(), [write, run, count])),
        ("2 0 1", || together(words(), [count, write, run])),
        ("2 1 0", || together(words(), [write, count, run])),
    ];
    for (name, body) in bodies {
        let (found, _) = explore(body, MemoryModel::Rc11, Engine::Graph, false);
        assert!(found.iter().any(|outcome| outcome.contains(&11)), "{name}: {found:?}");
        all_ways(name, body, &[]);
    }
    // The word is written twice, and it is the second time that matters.
    let body: Body = || {
        together(
            words(),
            [run, count, |w| {
                w[1].store(2, Release);
                w[1].store(1, Release);
                0
            }],
        )
    };
    all_ways("twice", body, &[&[11, 0, 0], &[1, 0, 0]]);
}

/// Only if two attempts have failed something is left, and the loop may be left then.
#[test]
fn two_attempts_that_fail_before_the_loop_is_left() {
    #[inline(never)]
    fn failed(fails: &mut usize) {
        *fails = if *fails == 0 { 1 } else { 2 };
        thread::yield_now();
    }
    let body: Body = || {
        together(
            words(),
            [
                |w| w[0].compare_exchange(0, 1, AcqRel, Relaxed).unwrap_or(9),
                |w| {
                    let mut fails = 0;
                    loop {
                        let old = w[0].load(SeqCst);
                        if old == 2 {
                            return 10 + fails / 2;
                        }
                        match w[0].compare_exchange(old, 1 - old.min(1), Relaxed, SeqCst) {
                            Ok(_) => return old + fails / 2,
                            Err(_) => failed(&mut fails),
                        }
                    }
                },
                |w| w[0].fetch_add(1, Release),
            ],
        )
    };
    all_ways("two", body, &[&[0, 11, 1]]);
}

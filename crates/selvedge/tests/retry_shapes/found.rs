//! What attempts that fail find, see and do.

use super::{Body, Words, add, all_ways, exchange, explore, together, words};
use selvedge::model::{Engine, MemoryModel};
use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::cell::Cell;

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

//! Loops that are left in other ways than by an exchange that succeeds.

use super::{Body, Words, add, all_ways, exchange, explore, together, words};
use selvedge::model::{Engine, MemoryModel};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::{assume, thread};
use std::cell::Cell;

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

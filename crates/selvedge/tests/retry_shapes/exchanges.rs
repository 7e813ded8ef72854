//! Two exchanges after one load.

use super::{Body, Words, add, all_ways, exchange, together, words};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire};
use std::cell::Cell;

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

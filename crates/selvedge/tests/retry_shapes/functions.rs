//! Loops in generic functions, shared with others, and within each other.

use super::{Body, add, all_ways, attempt, together, words};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire};
use selvedge::sync::atomic::{AtomicU8, AtomicU32};

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

//! Choices that are not the model's own, and assumptions.

use crate::request::Request;
use crate::runtime::{self, At};
use selvedge_ir::CmpOp;
use selvedge_machine::{Addr, Cond, SourceSpan};
use std::ops::{Range, RangeInclusive};
use std::panic::Location;

/// What [`nondet`] chooses from.
pub trait Choice {
    /// What is chosen.
    type Value;

    /// How many values there are.
    fn count(&self) -> u64;

    /// The n-th one.
    fn nth(&self, n: u64) -> Self::Value;
}

macro_rules! ranges {
    ($($int:ty),*) => {
        $(
            impl Choice for Range<$int> {
                type Value = $int;

                fn count(&self) -> u64 {
                    if self.start < self.end { (self.end as i128 - self.start as i128) as u64 } else { 0 }
                }

                fn nth(&self, n: u64) -> $int {
                    (self.start as i128 + i128::from(n)) as $int
                }
            }

            impl Choice for RangeInclusive<$int> {
                type Value = $int;

                fn count(&self) -> u64 {
                    let (start, end) = (*self.start() as i128, *self.end() as i128);
                    u64::try_from(end - start + 1).unwrap_or(if end < start { 0 } else { u64::MAX })
                }

                fn nth(&self, n: u64) -> $int {
                    (*self.start() as i128 + i128::from(n)) as $int
                }
            }
        )*
    };
}

ranges!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// Any value of a range: every one is explored.
///
/// # Panics
///
/// If the range is empty, or has more than 2^32 values.
#[track_caller]
pub fn nondet<C: Choice>(choice: C) -> C::Value {
    runtime::must_be_inside();
    let alternatives = u32::try_from(choice.count()).unwrap_or(0);
    assert!(alternatives > 0, "there is nothing to choose from, or far too much");
    choice.nth(runtime::perform(Request::choose(alternatives), Location::caller()))
}

/// Any truth value: both are explored.
#[track_caller]
pub fn nondet_bool() -> bool {
    runtime::must_be_inside();
    runtime::perform(Request::choose(2), Location::caller()) == 1
}

/// Executions in which this does not hold are of no interest: the thread does not go on, and the execution counts as
/// blocked. Nothing else is reported in it, except what has happened before.
#[track_caller]
pub fn assume(holds: bool) {
    runtime::must_be_inside();
    if !holds && !std::thread::panicking() {
        runtime::block(Location::caller());
    }
}

/// Whether something that may fail or end for no reason does; in words, what it does then. That is explored in a second pass, and once per thread at
/// most: with more, loops that try again would have no last execution. It is said if it could have happened once more; but in a loop
/// that tries again, where it is the same place in its code, that makes no difference as a rule, and is a note only.
#[track_caller]
pub(crate) fn for_no_reason(what: &'static str) -> bool {
    let (thread, at) = (runtime::must_be_inside(), Location::caller());
    let place = std::ptr::from_ref(at).addr();
    let possible = !std::thread::panicking()
        && runtime::shared(|shared| {
            shared.left_out.spurious |= !shared.config.spurious;
            let before = shared.per_thread(thread).spurious;
            shared.left_out.again |= before != 0 && before != place;
            shared.left_out.again_there |= before == place;
            shared.config.spurious && before == 0
        });
    if possible {
        runtime::shared(|shared| shared.without_reason.insert(place, (what, at)));
    }
    let happens = possible && runtime::perform(Request::choose(2), at) == 1;
    if happens {
        runtime::shared(|shared| shared.per_thread(thread).spurious = place);
    }
    happens
}

/// Whether a weak exchange of a word fails for no reason. That is no choice if it ends an attempt of a loop that would leave no
/// trace (`retry.rs`), nor if the thread waits with it (`machine/awaits.rs`).
#[track_caller]
#[inline(never)]
pub(crate) fn exchange_fails(addr: Addr, size: u8, expected: u64) -> bool {
    let (thread, at) = (runtime::must_be_inside(), Location::caller());
    let need_not = !std::thread::panicking()
        && runtime::shared(|shared| {
            shared.retries.is_weakly(at);
            let open = shared.per_thread(thread).open;
            let ends_attempt = shared.retries.need_not_fail(open, (addr, size, expected), at);
            let need_not = ends_attempt || shared.waits_weakly(at);
            if need_not {
                shared.without_reason.insert(std::ptr::from_ref(at).addr(), (FAILS, at));
            }
            need_not
        });
    !need_not && for_no_reason(FAILS)
}

/// Whether a choice at a place is whether a weak exchange fails for no reason, which comes next.
pub(crate) fn is_weak(at: At) -> bool {
    let place = std::ptr::from_ref(at).addr();
    runtime::shared(|shared| shared.without_reason.get(&place).is_some_and(|(what, _)| *what == FAILS))
}

/// Whether a choice at a place is whether something happens for no reason.
pub(crate) fn is_for_no_reason(at: At) -> bool {
    runtime::shared(|shared| shared.without_reason.contains_key(&std::ptr::from_ref(at).addr()))
}

/// What a weak exchange does for no reason.
const FAILS: &str = "fails";

/// What waits for until some word is not 0 that would time out otherwise: a thread that is left waiting for this is not
/// stuck, since that its time is up is another execution (`Machine::times_out`). Nothing else waits for this.
pub(crate) const IN_TIME: Cond = Cond::new(CmpOp::Ugt, 0);

/// What happens for no reason at a place, if a choice there is whether it does.
pub(crate) fn without_reason(place: &SourceSpan) -> Option<&'static str> {
    runtime::shared(|shared| {
        let mut known = shared.without_reason.values();
        known.find(|(_, at)| runtime::span(at) == *place).map(|(what, _)| *what)
    })
}

/// A wait has timed out. After so many times that a thread is blocked instead: a loop of waits would have no last execution.
#[track_caller]
pub(crate) fn times_out() {
    let thread = runtime::must_be_inside();
    let explored = runtime::shared(|shared| {
        let limit = shared.config.timeouts;
        let timeouts = &mut shared.per_thread(thread).timeouts;
        *timeouts += 1;
        let explored = *timeouts <= limit;
        shared.left_out.timeouts |= !explored;
        explored
    });
    if !explored {
        runtime::block(Location::caller());
    }
}

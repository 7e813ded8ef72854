//! Stands in for `std::hint`.

// `unreachable_unchecked` is an unsafe function.
#![allow(unsafe_code)]

use crate::runtime;
use std::panic::Location;

/// Says that the thread spins: it waits for something that others do.
#[track_caller]
#[inline(always)]
pub fn spin_loop() {
    runtime::yields();
}

/// Waits as long as a condition holds: `while condition() { spin_loop() }`.
///
/// The two do the same, but a model has fewer executions with this: if the condition performs one atomic operation and does
/// nothing else, a look that fails is never one that differs from none.
#[track_caller]
pub fn spin_while(mut condition: impl FnMut() -> bool) {
    runtime::spin_while(&mut condition, Location::caller());
}

/// Says that this place is not reached.
///
/// # Safety
///
/// As for `std`'s. Here nothing bad happens.
///
/// # Panics
///
/// If it is: that is a failure of the model.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("unreachable_unchecked was reached");
}

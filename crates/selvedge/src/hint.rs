//! Stands in for `std::hint`.

// `unreachable_unchecked` is an unsafe function.
#![allow(unsafe_code)]

use crate::runtime;
use std::panic::Location;

/// Says that the thread spins: it waits for something that others do.
#[track_caller]
#[inline(always)]
pub fn spin_loop() {
    runtime::yields(Location::caller());
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

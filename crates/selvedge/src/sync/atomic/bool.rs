//! Atomic truth values.

// `unsync_load` is an unsafe function in loom.
#![allow(unsafe_code)]

use super::AtomicU8;
use std::fmt;
use std::sync::atomic::Ordering;

/// Stands in for `std::sync::atomic::AtomicBool`.
pub struct AtomicBool(AtomicU8);

impl AtomicBool {
    /// An atomic with its first value. A `static` starts every execution with it.
    #[track_caller]
    pub const fn new(value: bool) -> Self {
        AtomicBool(AtomicU8::named("AtomicBool", value as u8))
    }

    /// Gives exclusive access to the value.
    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut bool) -> R) -> R {
        self.0.with_mut(|byte| {
            let mut value = *byte != 0;
            let result = f(&mut value);
            *byte = u8::from(value);
            result
        })
    }

    /// Loads the value without synchronisation: a data race if another thread may store at the same time.
    ///
    /// # Safety
    ///
    /// As in loom. Here nothing bad happens: a race is reported.
    #[track_caller]
    pub unsafe fn unsync_load(&self) -> bool {
        // SAFETY: the caller has promised the same.
        unsafe { self.0.unsync_load() != 0 }
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(self) -> bool {
        self.0.into_inner() != 0
    }

    /// Loads the value.
    #[track_caller]
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> bool {
        self.0.load(order) != 0
    }

    /// Stores a value.
    #[track_caller]
    #[inline(always)]
    pub fn store(&self, value: bool, order: Ordering) {
        self.0.store(u8::from(value), order);
    }

    /// Stores a value and returns the old one.
    #[track_caller]
    #[inline(always)]
    pub fn swap(&self, value: bool, order: Ordering) -> bool {
        self.0.swap(u8::from(value), order) != 0
    }

    /// Stores a value if the present one is `current`; returns the old one.
    #[track_caller]
    pub fn compare_and_swap(&self, current: bool, new: bool, order: Ordering) -> bool {
        self.0.compare_and_swap(u8::from(current), u8::from(new), order) != 0
    }

    /// Stores a value if the present one is `current`.
    #[track_caller]
    #[inline(always)]
    pub fn compare_exchange(
        &self,
        current: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        let result = self.0.compare_exchange(u8::from(current), u8::from(new), success, failure);
        result.map(|old| old != 0).map_err(|old| old != 0)
    }

    /// As `compare_exchange`, but it may fail for no reason.
    #[track_caller]
    #[inline(always)]
    pub fn compare_exchange_weak(
        &self,
        current: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        let result = self.0.compare_exchange_weak(u8::from(current), u8::from(new), success, failure);
        result.map(|old| old != 0).map_err(|old| old != 0)
    }

    /// And; returns the old value.
    #[track_caller]
    #[inline(always)]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.0.fetch_and(u8::from(value), order) != 0
    }

    /// Not-and; returns the old value.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        // Not bitwise: a truth value has one bit.
        if value { self.fetch_xor(true, order) } else { self.swap(true, order) }
    }

    /// Or; returns the old value.
    #[track_caller]
    #[inline(always)]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.0.fetch_or(u8::from(value), order) != 0
    }

    /// Exclusive or; returns the old value.
    #[track_caller]
    #[inline(always)]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.0.fetch_xor(u8::from(value), order) != 0
    }

    /// Not; returns the old value.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }

    /// Replaces the value by what a function makes of it, until nobody comes in between.
    #[track_caller]
    pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<bool, bool>
    where
        F: FnMut(bool) -> Option<bool>,
    {
        let result = self.0.fetch_update(set, fetch, |byte| f(byte != 0).map(u8::from));
        result.map(|old| old != 0).map_err(|old| old != 0)
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        AtomicBool::new(false)
    }
}

impl From<bool> for AtomicBool {
    #[track_caller]
    fn from(value: bool) -> Self {
        AtomicBool::new(value)
    }
}

impl fmt::Debug for AtomicBool {
    /// Without the value: to look at it is an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBool").finish_non_exhaustive()
    }
}

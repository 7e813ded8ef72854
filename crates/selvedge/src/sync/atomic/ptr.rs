//! Atomic pointers. What the engine sees of them are virtual addresses (`virtual_address.rs`).

// `unsync_load` is an unsafe function in loom.
#![allow(unsafe_code)]

use super::{any, failure_of, of_load, of_store};
use crate::nondet::{assume, for_no_reason};
use crate::object::{Word, real_of, virtual_of};
use crate::runtime::{self, At};
use crate::update::{self, Update};
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::{Access, AccessKind, Addr, Op};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicPtr as StdPtr, Ordering};

/// Stands in for `std::sync::atomic::AtomicPtr`.
pub struct AtomicPtr<T> {
    word: Word,
    /// The first value.
    first: StdPtr<T>,
}

impl<T> AtomicPtr<T> {
    /// An atomic with its first value. A `static` starts every execution with it.
    #[track_caller]
    pub const fn new(pointer: *mut T) -> Self {
        AtomicPtr { word: Word::new("AtomicPtr", 8, 0), first: StdPtr::new(pointer) }
    }

    // Never inlined, for the same reason as `runtime::perform`.
    #[track_caller]
    #[inline(never)]
    fn access(&self, order: Order, kind: AccessKind, at: At) -> *mut T {
        Self::pointer(runtime::perform(Op::Access(Access::new(self.see(), 8, order, kind)), at))
    }

    /// Where it is.
    #[track_caller]
    fn see(&self) -> Addr {
        let first = || self.first.load(Ordering::Relaxed).expose_provenance() as u64;
        let addr = self.word.see_with(first).addr;
        runtime::tidy();
        addr
    }

    fn pointer(seen: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(real_of(seen) as usize)
    }

    fn value(pointer: *mut T) -> u64 {
        virtual_of(pointer.expose_provenance() as u64)
    }

    /// Gives exclusive access to the pointer.
    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut *mut T) -> R) -> R {
        let at = Location::caller();
        let mut pointer = self.access(Order::Plain, AccessKind::Load, at);
        let result = f(&mut pointer);
        self.access(Order::Plain, AccessKind::Store { value: Self::value(pointer) }, at);
        result
    }

    /// Loads the pointer without synchronisation: a data race if another thread may store at the same time.
    ///
    /// # Safety
    ///
    /// As in loom. Here nothing bad happens: a race is reported.
    #[track_caller]
    pub unsafe fn unsync_load(&self) -> *mut T {
        self.access(Order::Plain, AccessKind::Load, Location::caller())
    }

    /// The pointer.
    #[track_caller]
    pub fn into_inner(self) -> *mut T {
        self.access(Order::Plain, AccessKind::Load, Location::caller())
    }

    /// Loads the pointer.
    #[track_caller]
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> *mut T {
        runtime::prepare();
        self.access(of_load(order), AccessKind::Load, Location::caller())
    }

    /// Stores a pointer.
    #[track_caller]
    pub fn store(&self, pointer: *mut T, order: Ordering) {
        let at = Location::caller();
        self.access(of_store(order), AccessKind::Store { value: Self::value(pointer) }, at);
    }

    /// Stores a pointer and returns the old one.
    #[track_caller]
    pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        let at = Location::caller();
        let kind = AccessKind::Rmw { op: RmwOp::Xchg, operand: Self::value(pointer), used: true };
        self.access(any(order), kind, at)
    }

    /// Stores a pointer if the present one is `current`; returns the old one.
    #[track_caller]
    pub fn compare_and_swap(&self, current: *mut T, new: *mut T, order: Ordering) -> *mut T {
        match self.compare_exchange(current, new, order, failure_of(order)) {
            Ok(old) | Err(old) => old,
        }
    }

    /// Stores a pointer if the present one is `current`.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        let at = Location::caller();
        let (expected, new) = (Self::value(current), Self::value(new));
        let kind = AccessKind::Cas { expected, new, failure: of_load(failure) };
        let old = self.access(any(success), kind, at);
        if old.addr() == current.addr() { Ok(old) } else { Err(old) }
    }

    /// As `compare_exchange`, but it may fail for no reason.
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        if for_no_reason("fails") {
            let old = self.load(failure);
            // If the values differ it fails for a reason, which is explored anyway.
            assume(old.addr() == current.addr());
            return Err(old);
        }
        self.compare_exchange(current, new, success, failure)
    }

    /// Replaces the pointer by what a function makes of it, until nobody comes in between.
    #[track_caller]
    pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<*mut T, *mut T>
    where
        F: FnMut(*mut T) -> Option<*mut T>,
    {
        let at = Location::caller();
        let addr = self.see();
        let update = Update { addr, size: 8, set: any(set), fetch: of_load(fetch), at };
        if let Some(done) = update::update(update, &mut |bits| f(Self::pointer(bits)).map(Self::value)) {
            return done.map(Self::pointer).map_err(Self::pointer);
        }
        let mut old = self.load(fetch);
        while let Some(new) = f(old) {
            match self.compare_exchange_weak(old, new, set, fetch) {
                Ok(old) => return Ok(old),
                Err(now) => old = now,
            }
        }
        Err(old)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        AtomicPtr::new(std::ptr::null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    #[track_caller]
    fn from(pointer: *mut T) -> Self {
        AtomicPtr::new(pointer)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    /// Without the value: to look at it is an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicPtr").finish_non_exhaustive()
    }
}

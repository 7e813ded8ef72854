//! Atomic pointers. What the engine sees of them are virtual addresses (`virtual_address.rs`).

// `unsync_load` is an unsafe function in loom.
#![allow(unsafe_code)]

use super::{any, failure_of, of_load, of_store};
use crate::nondet::{assume, exchange_fails};
use crate::object::{Word, real_of, virtual_of};
use crate::request::Request;
use crate::runtime::{self, At, prepare};
use crate::update::{self, Update};
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::Addr;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicPtr as StdPtr, Ordering};

/// Stands in for `std::sync::atomic::AtomicPtr`.
pub struct AtomicPtr<T> {
    bits: Bits,
    of: PhantomData<StdPtr<T>>,
}

// As for `std`'s, it does not matter what it points to.
impl<T> UnwindSafe for AtomicPtr<T> {}
impl<T> RefUnwindSafe for AtomicPtr<T> {}

/// What it is, whatever it points to.
///
/// Operations have two halves. The first one is part of the model's code: it only clears the stack below. The second one
/// is here: never inlined, and told everything in registers, so that nothing is left over from it in the frame of the model's
/// code: stacks are compared (`spin.rs`).
struct Bits {
    word: Word,
    /// The first value.
    first: StdPtr<()>,
}

impl Bits {
    #[track_caller]
    #[inline(never)]
    fn access(&self, order: Order, request: Request, at: At) -> usize {
        let addr = self.see();
        runtime::tidy_frame();
        real_of(runtime::perform(request.at(addr, 8, order), at)) as usize
    }

    /// Where it is.
    #[track_caller]
    fn see(&self) -> Addr {
        let first = || self.first.load(Ordering::Relaxed).expose_provenance() as u64;
        self.word.see_with(first).addr
    }

    #[track_caller]
    #[inline(never)]
    fn read(&self, order: Order) -> usize {
        self.access(order, Request::load(), Location::caller())
    }

    #[track_caller]
    #[inline(never)]
    fn write(&self, pointer: usize, order: Order) {
        self.access(order, Request::store(virtual_of(pointer as u64)), Location::caller());
    }

    #[track_caller]
    #[inline(never)]
    fn swap(&self, pointer: usize, order: Order) -> usize {
        let kind = Request::rmw(RmwOp::Xchg, virtual_of(pointer as u64), true);
        self.access(order, kind, Location::caller())
    }

    #[track_caller]
    #[inline(never)]
    fn exchange(&self, current: usize, new: usize, success: Order, failure: Order) -> usize {
        let (expected, new) = (virtual_of(current as u64), virtual_of(new as u64));
        self.access(success, Request::cas(expected, new, failure), Location::caller())
    }

    #[track_caller]
    #[inline(never)]
    fn exchange_weakly(&self, current: usize, new: usize, success: Order, failure: Order) -> Result<usize, usize> {
        if exchange_fails(self.see(), 8, virtual_of(current as u64)) {
            let old = self.access(failure, Request::load().of_failure(), Location::caller());
            // If the values differ it fails for a reason, which is explored anyway.
            assume(old == current);
            return Err(old);
        }
        prepare();
        let old = self.exchange(current, new, success, failure);
        if old == current && !runtime::fails_in_trial() { Ok(old) } else { Err(old) }
    }
}

impl<T> AtomicPtr<T> {
    /// An atomic with its first value. A `static` starts every execution with it.
    #[track_caller]
    pub const fn new(pointer: *mut T) -> Self {
        let bits = Bits { word: Word::new("AtomicPtr", 8, 0), first: StdPtr::new(pointer.cast()) };
        AtomicPtr { bits, of: PhantomData }
    }

    #[inline(always)]
    fn pointer(at: usize) -> *mut T {
        std::ptr::with_exposed_provenance_mut(at)
    }

    /// Gives exclusive access to the pointer.
    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut *mut T) -> R) -> R {
        let mut pointer = Self::pointer(self.bits.read(Order::Plain));
        let result = f(&mut pointer);
        self.bits.write(pointer.expose_provenance(), Order::Plain);
        result
    }

    /// Loads the pointer without synchronisation: a data race if another thread may store at the same time.
    ///
    /// # Safety
    ///
    /// As in loom. Here nothing bad happens: a race is reported.
    #[track_caller]
    pub unsafe fn unsync_load(&self) -> *mut T {
        Self::pointer(self.bits.read(Order::Plain))
    }

    /// The pointer.
    #[track_caller]
    pub fn into_inner(self) -> *mut T {
        Self::pointer(self.bits.read(Order::Plain))
    }

    /// Loads the pointer.
    #[track_caller]
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> *mut T {
        prepare();
        Self::pointer(self.bits.read(of_load(order)))
    }

    /// Stores a pointer.
    #[track_caller]
    #[inline(always)]
    pub fn store(&self, pointer: *mut T, order: Ordering) {
        prepare();
        self.bits.write(pointer.expose_provenance(), of_store(order));
    }

    /// Stores a pointer and returns the old one.
    #[track_caller]
    #[inline(always)]
    pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        prepare();
        Self::pointer(self.bits.swap(pointer.expose_provenance(), any(order)))
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
    #[inline(always)]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        prepare();
        let (expected, new) = (current.expose_provenance(), new.expose_provenance());
        let old = self.bits.exchange(expected, new, any(success), of_load(failure));
        if old == expected { Ok(Self::pointer(old)) } else { Err(Self::pointer(old)) }
    }

    /// As `compare_exchange`, but it may fail for no reason.
    #[track_caller]
    #[inline(always)]
    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        prepare();
        let (current, new) = (current.expose_provenance(), new.expose_provenance());
        let result = self.bits.exchange_weakly(current, new, any(success), of_load(failure));
        result.map(Self::pointer).map_err(Self::pointer)
    }

    /// Replaces the pointer by what a function makes of it, until nobody comes in between.
    #[track_caller]
    pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<*mut T, *mut T>
    where
        F: FnMut(*mut T) -> Option<*mut T>,
    {
        let at = Location::caller();
        let addr = self.bits.see();
        let update = Update { addr, size: 8, set: any(set), fetch: of_load(fetch), at };
        let outside = |bits: u64| Self::pointer(real_of(bits) as usize);
        let inside = |pointer: *mut T| virtual_of(pointer.expose_provenance() as u64);
        if let Some(done) = update::update(update, &mut |bits| f(outside(bits)).map(inside)) {
            return done.map(outside).map_err(outside);
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

//! Atomic pointers. What the engine sees of them are names (`pointers.rs`).

// `unsync_load` is an unsafe function in loom.
#![allow(unsafe_code)]

use super::{any, failure_of, of_load, of_store};
use crate::object::Word;
use crate::pointers::Trouble;
use crate::runtime::{self, At};
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::{Access, AccessKind, Op};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicPtr as StdPtr, Ordering};

/// Stands in for `std::sync::atomic::AtomicPtr`.
pub struct AtomicPtr<T> {
    word: Word,
    /// The first value.
    first: StdPtr<T>,
}

/// Which pointer of an operation it is.
const VALUE: u32 = 0;
const EXPECTED: u32 = 1;
const FIRST: u32 = 2;
/// Pointers of objects that are made between two operations come behind.
const MADE: u32 = 3;

/// The name of a pointer that the running thread passes.
#[track_caller]
fn name(pointer: usize, which: u32, at: At) -> u64 {
    let Some(thread) = runtime::current() else { return 0 };
    let named = runtime::shared(|shared| {
        let history = shared.per_thread(thread).history;
        let named = shared.pointers.name(pointer, (history, which));
        shared.restart |= named == Err(Trouble::Joined);
        named
    });
    match named {
        Ok(name) => name,
        Err(_) if std::thread::panicking() => 0,
        Err(Trouble::Joined) => runtime::stop("the exploration starts again".to_owned(), at),
        Err(Trouble::Reused) => runtime::stop(
            "memory that is given back and given out again at the same address in some executions only. \
             Keep what a pointer has pointed to until the model ends (for instance in a list that the model's closure owns)"
                .to_owned(),
            at,
        ),
    }
}

impl<T> AtomicPtr<T> {
    /// An atomic with its first value.
    #[track_caller]
    pub fn new(pointer: *mut T) -> Self {
        let inside = runtime::current().filter(|_| !std::thread::panicking());
        let word = match inside {
            None => Word::fixed(8, 0),
            Some(thread) => {
                let made = runtime::shared(|shared| shared.per_thread(thread).made);
                let first = name(pointer.expose_provenance(), MADE + made, Location::caller());
                Word::new("AtomicPtr", 8, first)
            }
        };
        AtomicPtr { word, first: StdPtr::new(pointer) }
    }

    /// An atomic for a `static`. It starts every execution with this value.
    pub const fn const_new(pointer: *mut T) -> Self {
        AtomicPtr { word: Word::fixed(8, 0), first: StdPtr::new(pointer) }
    }

    // Never inlined, for the same reason as `runtime::perform`.
    #[track_caller]
    #[inline(never)]
    fn access(&self, order: Order, kind: AccessKind, at: At) -> *mut T {
        let first = || name(self.first.load(Ordering::Relaxed).expose_provenance(), FIRST, at);
        let addr = self.word.addr_with(first);
        let name = runtime::perform(Op::Access(Access::new(addr, 8, order, kind)), at);
        let pointer = runtime::shared(|shared| shared.pointers.pointer(name));
        std::ptr::with_exposed_provenance_mut(pointer)
    }

    #[track_caller]
    fn value(pointer: *mut T, at: At) -> u64 {
        name(pointer.expose_provenance(), VALUE, at)
    }

    /// Gives exclusive access to the pointer.
    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut *mut T) -> R) -> R {
        let at = Location::caller();
        let mut pointer = self.access(Order::Plain, AccessKind::Load, at);
        let result = f(&mut pointer);
        self.access(Order::Plain, AccessKind::Store { value: Self::value(pointer, at) }, at);
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
    pub fn load(&self, order: Ordering) -> *mut T {
        self.access(of_load(order), AccessKind::Load, Location::caller())
    }

    /// Stores a pointer.
    #[track_caller]
    pub fn store(&self, pointer: *mut T, order: Ordering) {
        let at = Location::caller();
        self.access(of_store(order), AccessKind::Store { value: Self::value(pointer, at) }, at);
    }

    /// Stores a pointer and returns the old one.
    #[track_caller]
    pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
        let at = Location::caller();
        let kind = AccessKind::Rmw { op: RmwOp::Xchg, operand: Self::value(pointer, at), used: true };
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
        let expected = name(current.expose_provenance(), EXPECTED, at);
        let kind = AccessKind::Cas { expected, new: Self::value(new, at), failure: of_load(failure) };
        let old = self.access(any(success), kind, at);
        if old.addr() == current.addr() { Ok(old) } else { Err(old) }
    }

    /// As `compare_exchange`. That it may fail for no reason is not explored.
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.compare_exchange(current, new, success, failure)
    }

    /// Replaces the pointer by what a function makes of it, until nobody comes in between.
    #[track_caller]
    pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<*mut T, *mut T>
    where
        F: FnMut(*mut T) -> Option<*mut T>,
    {
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

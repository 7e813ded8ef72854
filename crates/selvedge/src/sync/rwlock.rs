//! Read-write locks: a word that counts readers, or says that there is a writer.

// What a lock protects is reached through a pointer.
#![allow(unsafe_code)]

use super::poison::{Guarded, poisoned};
use crate::content::Content;
use crate::object::Word;
use crate::request::Request;
use crate::runtime::{self, At};
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::Purpose;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::{LockResult, TryLockError, TryLockResult};

/// Stands in for `std::sync::RwLock`.
pub struct RwLock<T: ?Sized> {
    word: Word,
    content: Content<Guarded<T>>,
}

// SAFETY: a writer is alone, and readers have shared references only, as in `std`'s.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// Stands in for `std::sync::RwLockReadGuard`.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    content: *const Guarded<T>,
    at: At,
}

/// Stands in for `std::sync::RwLockWriteGuard`.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    content: *mut Guarded<T>,
    panicked: bool,
    at: At,
}

// SAFETY: a reference to a guard is a reference to what is protected, as in `std`'s.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}
// There are pointers in them, from which the compiler concludes nothing good. A panic of a reader does not poison the lock.
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for RwLockReadGuard<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockReadGuard<'_, T> {}
impl<T: ?Sized> UnwindSafe for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for RwLockWriteGuard<'_, T> {}

/// What the word says if there is a writer; less than that are readers.
pub(crate) const WRITER: u64 = 1 << 32;

impl<T> RwLock<T> {
    /// A lock that nobody holds.
    #[track_caller]
    pub const fn new(data: T) -> RwLock<T> {
        RwLock { word: Word::new("RwLock", 8, 0), content: Content::new(Guarded::new(data)) }
    }

    /// What it protects.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        self.word.is_owned(Location::caller());
        let content = self.content.into_inner();
        let is_poisoned = content.is_poisoned();
        poisoned(is_poisoned, content.value)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer, and reads.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        let enter = Request::rmw(RmwOp::Add, 1, false).until(CmpOp::Ult, WRITER);
        self.word.synchronise(Order::Acquire, enter, Purpose::Lock, at);
        self.read_guard(at)
    }

    /// Reads if there is no writer.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        runtime::tries(self.word.addr());
        // Most often there is nobody; what there is otherwise, the exchange tells.
        let mut readers = 0;
        while readers < WRITER {
            let enter = Request::cas(readers, readers + 1, Order::Relaxed);
            match self.word.access(Order::Acquire, enter, at) {
                now if now == readers => return self.read_guard(at).map_err(TryLockError::Poisoned),
                now => readers = now,
            }
        }
        Err(TryLockError::WouldBlock)
    }

    /// Waits until nobody holds the lock, and writes.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        let enter = Request::rmw(RmwOp::Xchg, WRITER, false).until(CmpOp::Eq, 0);
        self.word.synchronise(Order::Acquire, enter, Purpose::Lock, at);
        self.write_guard(at)
    }

    /// Writes if nobody holds the lock.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        runtime::tries(self.word.addr());
        let enter = Request::cas(0, WRITER, Order::Relaxed);
        match self.word.access(Order::Acquire, enter, at) {
            0 => self.write_guard(at).map_err(TryLockError::Poisoned),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether somebody has panicked while he wrote.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        super::poison::is_looked_at();
        // SAFETY: the flag is in a cell that is never borrowed.
        unsafe { (*self.content.get(&self.word, true, Location::caller())).is_poisoned() }
    }

    /// Forgets that somebody has panicked while he wrote.
    #[track_caller]
    pub fn clear_poison(&self) {
        super::poison::is_cleared();
        // SAFETY: the flag is in a cell that is never borrowed.
        unsafe { (*self.content.get(&self.word, true, Location::caller())).set_poisoned(false) };
    }

    /// What it protects.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.word.is_owned(Location::caller());
        let content = self.content.get_mut();
        let is_poisoned = content.is_poisoned();
        poisoned(is_poisoned, &mut content.value)
    }

    #[track_caller]
    fn read_guard(&self, at: At) -> LockResult<RwLockReadGuard<'_, T>> {
        let content = self.content.get(&self.word, true, at).cast_const();
        // SAFETY: the flag is in a cell that is never borrowed.
        let is_poisoned = unsafe { (*content).is_poisoned() };
        poisoned(is_poisoned, RwLockReadGuard { lock: self, content, at })
    }

    #[track_caller]
    fn write_guard(&self, at: At) -> LockResult<RwLockWriteGuard<'_, T>> {
        let content = self.content.get(&self.word, true, at);
        // SAFETY: the flag is in a cell that is never borrowed.
        let is_poisoned = unsafe { (*content).is_poisoned() };
        poisoned(is_poisoned, RwLockWriteGuard { lock: self, content, panicked: std::thread::panicking(), at })
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on as a reader; nobody writes in between.
    #[track_caller]
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let (lock, content, at) = (this.lock, this.content.cast_const(), Location::caller());
        std::mem::forget(this);
        lock.word.synchronise(Order::Release, Request::store(1), Purpose::Unlock, at);
        RwLockReadGuard { lock, content, at }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        let leave = Request::rmw(RmwOp::Sub, 1, false);
        self.lock.word.synchronise(Order::Release, leave, Purpose::Unlock, self.at);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if !self.panicked && std::thread::panicking() {
            // SAFETY: the flag is in a cell that is never borrowed.
            unsafe { (*self.content).set_poisoned(true) };
        }
        self.lock.word.synchronise(Order::Release, Request::store(0), Purpose::Unlock, self.at);
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as long as there is a reader there is no writer.
        unsafe { &(*self.content).value }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a writer is alone.
        unsafe { &(*self.content).value }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: a writer is alone.
        unsafe { &mut (*self.content).value }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    /// Without what it protects: to look at it is an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(data: T) -> Self {
        RwLock::new(data)
    }
}

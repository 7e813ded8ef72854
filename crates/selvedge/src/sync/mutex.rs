//! Mutexes: a word that is 0 if nobody holds it. To lock is an exchange that waits for that.

// What a mutex protects is reached through a pointer.
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

/// Stands in for `std::sync::Mutex`.
pub struct Mutex<T: ?Sized> {
    word: Word,
    content: Content<Guarded<T>>,
}

// SAFETY: only who holds the mutex has a reference to what it protects, as in `std`'s.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// Stands in for `std::sync::MutexGuard`. As in loom, it may be dropped at once without a warning: `lock.lock().unwrap();`.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    content: *mut Guarded<T>,
    panicked: bool,
    at: At,
}

// SAFETY: a reference to the guard is a reference to what is protected, as in `std`'s.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}
// There is a pointer in it, from which the compiler concludes nothing good. What it protects is poisoned by a panic.
impl<T: ?Sized> UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for MutexGuard<'_, T> {}

const HELD: u64 = 1;

impl<T> Mutex<T> {
    /// A mutex that nobody holds.
    #[track_caller]
    pub const fn new(data: T) -> Mutex<T> {
        Mutex { word: Word::new("Mutex", 8, 0), content: Content::new(Guarded::new(data)) }
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

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody holds the mutex, and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        let take = Request::rmw(RmwOp::Xchg, HELD, false).until(CmpOp::Eq, 0);
        self.word.synchronise(Order::Acquire, take, Purpose::Lock, at);
        self.guard(at)
    }

    /// Takes the mutex if nobody holds it.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        runtime::tries(self.word.addr());
        let take = Request::cas(0, HELD, Order::Relaxed);
        match self.word.synchronise(Order::Acquire, take, Purpose::Data, at) {
            0 => self.guard(at).map_err(TryLockError::Poisoned),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether somebody has panicked while he held it. This is no operation of the model: of others who still run it shows what
    /// they happen to have done, and not all that could be; `lock` tells the same.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        super::poison::is_looked_at();
        // SAFETY: the flag is in a cell that is never borrowed.
        unsafe { (*self.content.get(&self.word, true, Location::caller())).is_poisoned() }
    }

    /// Forgets that somebody has panicked while he held it.
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
    fn guard(&self, at: At) -> LockResult<MutexGuard<'_, T>> {
        let content = self.content.get(&self.word, true, at);
        // SAFETY: the flag is in a cell that is never borrowed.
        let is_poisoned = unsafe { (*content).is_poisoned() };
        poisoned(is_poisoned, MutexGuard { mutex: self, content, panicked: std::thread::panicking(), at })
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The mutex that it holds.
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if !self.panicked && std::thread::panicking() {
            // SAFETY: the flag is in a cell that is never borrowed.
            unsafe { (*self.content).set_poisoned(true) };
        }
        self.mutex.word.synchronise(Order::Release, Request::store(0), Purpose::Unlock, self.at);
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: who has the guard holds the mutex.
        unsafe { &(*self.content).value }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: who has the guard holds the mutex.
        unsafe { &mut (*self.content).value }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    /// Without what it protects: to look at it is an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(data: T) -> Self {
        Mutex::new(data)
    }
}

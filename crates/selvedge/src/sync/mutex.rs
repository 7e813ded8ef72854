//! Mutexes: a word that is 0 if nobody holds it. To lock is an exchange that waits for that.
//!
//! What a mutex protects is in one of `std`'s, which nobody ever waits for: the word says who may have it.

use crate::object::Word;
use crate::runtime::At;
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::{AccessKind, Cond, Purpose};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// Stands in for `std::sync::Mutex`.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    word: Word,
    data: std::sync::Mutex<T>,
}

/// Stands in for `std::sync::MutexGuard`.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    data: Option<std::sync::MutexGuard<'a, T>>,
    at: At,
}

const HELD: u64 = 1;

impl<T> Mutex<T> {
    /// A mutex that nobody holds.
    #[track_caller]
    pub fn new(data: T) -> Mutex<T> {
        Mutex { word: Word::new("Mutex", 8, 0), data: std::sync::Mutex::new(data) }
    }

    /// What it protects.
    pub fn into_inner(self) -> LockResult<T> {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody holds the mutex, and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        self.word.must_be_of_this_run(at);
        let take = AccessKind::Rmw { op: RmwOp::Xchg, operand: HELD, used: false };
        let free = Some(Cond::new(CmpOp::Eq, 0));
        self.word.synchronise(Order::Acquire, take, free, Purpose::Lock, at);
        self.guard(at)
    }

    /// Takes the mutex if nobody holds it.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        self.word.must_be_of_this_run(at);
        let take = AccessKind::Cas { expected: 0, new: HELD, failure: Order::Relaxed };
        match self.word.synchronise(Order::Acquire, take, None, Purpose::Data, at) {
            0 => self.guard(at).map_err(TryLockError::Poisoned),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// What it protects.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.data.get_mut()
    }

    fn guard(&self, at: At) -> LockResult<MutexGuard<'_, T>> {
        let guard = |data| MutexGuard { mutex: self, data: Some(data), at };
        match self.data.try_lock() {
            Ok(data) => Ok(guard(data)),
            Err(TryLockError::Poisoned(error)) => Err(PoisonError::new(guard(error.into_inner()))),
            Err(TryLockError::WouldBlock) => panic!("a mutex is used while a panic unwinds a thread that holds it"),
        }
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
        self.data = None;
        self.mutex.word.synchronise(Order::Release, AccessKind::Store { value: 0 }, None, Purpose::Unlock, self.at);
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect("a guard has its data until it is dropped")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.data.as_mut().expect("a guard has its data until it is dropped")
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

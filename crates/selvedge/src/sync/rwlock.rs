//! Read-write locks: a word that counts readers, or says that there is a writer.

use crate::object::Word;
use crate::runtime::At;
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::{AccessKind, Cond, Purpose};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// Stands in for `std::sync::RwLock`.
#[derive(Debug)]
pub struct RwLock<T: ?Sized> {
    word: Word,
    data: std::sync::RwLock<T>,
}

/// Stands in for `std::sync::RwLockReadGuard`.
#[derive(Debug)]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    data: Option<std::sync::RwLockReadGuard<'a, T>>,
    at: At,
}

/// Stands in for `std::sync::RwLockWriteGuard`.
#[derive(Debug)]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    data: Option<std::sync::RwLockWriteGuard<'a, T>>,
    at: At,
}

const WRITER: u64 = 1 << 32;
const HELD: &str = "a guard has its data until it is dropped";
const BUSY: &str = "a lock is used while a panic unwinds a thread that holds it";

impl<T> RwLock<T> {
    /// A lock that nobody holds.
    #[track_caller]
    pub fn new(data: T) -> RwLock<T> {
        RwLock { word: Word::new("RwLock", 8, 0), data: std::sync::RwLock::new(data) }
    }

    /// What it protects.
    pub fn into_inner(self) -> LockResult<T> {
        self.data.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer, and reads.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        self.word.must_be_of_this_run(at);
        let enter = AccessKind::Rmw { op: RmwOp::Add, operand: 1, used: false };
        let free = Some(Cond::new(CmpOp::Ult, WRITER));
        self.word.synchronise(Order::Acquire, enter, free, Purpose::Lock, at);
        self.read_guard(at)
    }

    /// Reads if there is no writer.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        self.word.must_be_of_this_run(at);
        let mut readers = self.word.access(Order::Relaxed, AccessKind::Load, at);
        while readers < WRITER {
            let enter = AccessKind::Cas { expected: readers, new: readers + 1, failure: Order::Relaxed };
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
        self.word.must_be_of_this_run(at);
        let enter = AccessKind::Rmw { op: RmwOp::Xchg, operand: WRITER, used: false };
        let free = Some(Cond::new(CmpOp::Eq, 0));
        self.word.synchronise(Order::Acquire, enter, free, Purpose::Lock, at);
        self.write_guard(at)
    }

    /// Writes if nobody holds the lock.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        self.word.must_be_of_this_run(at);
        let enter = AccessKind::Cas { expected: 0, new: WRITER, failure: Order::Relaxed };
        match self.word.access(Order::Acquire, enter, at) {
            0 => self.write_guard(at).map_err(TryLockError::Poisoned),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// What it protects.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.data.get_mut()
    }

    fn read_guard(&self, at: At) -> LockResult<RwLockReadGuard<'_, T>> {
        let guard = |data| RwLockReadGuard { lock: self, data: Some(data), at };
        match self.data.try_read() {
            Ok(data) => Ok(guard(data)),
            Err(TryLockError::Poisoned(error)) => Err(PoisonError::new(guard(error.into_inner()))),
            Err(TryLockError::WouldBlock) => panic!("{BUSY}"),
        }
    }

    fn write_guard(&self, at: At) -> LockResult<RwLockWriteGuard<'_, T>> {
        let guard = |data| RwLockWriteGuard { lock: self, data: Some(data), at };
        match self.data.try_write() {
            Ok(data) => Ok(guard(data)),
            Err(TryLockError::Poisoned(error)) => Err(PoisonError::new(guard(error.into_inner()))),
            Err(TryLockError::WouldBlock) => panic!("{BUSY}"),
        }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        let leave = AccessKind::Rmw { op: RmwOp::Sub, operand: 1, used: false };
        self.lock.word.synchronise(Order::Release, leave, None, Purpose::Unlock, self.at);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        self.lock.word.synchronise(Order::Release, AccessKind::Store { value: 0 }, None, Purpose::Unlock, self.at);
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect(HELD)
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect(HELD)
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.data.as_mut().expect(HELD)
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

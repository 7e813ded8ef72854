//! Condition variables.
//!
//! A thread does not wake without having been notified, except from `wait_timeout`, which may time out at any moment. That
//! `wait` may return for no reason is not explored: a model in which a notification gets lost would never be stuck.

use super::MutexGuard;
use crate::object::Word;
use crate::runtime;
use selvedge_machine::Op;
use std::panic::Location;
use std::sync::LockResult;
use std::time::Duration;

/// Stands in for `std::sync::Condvar`.
#[derive(Debug)]
pub struct Condvar {
    word: Word,
}

/// Whether a wait has timed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it has.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable that nobody waits on.
    #[track_caller]
    pub fn new() -> Condvar {
        Condvar { word: Word::new("Condvar", 8, 0) }
    }

    #[track_caller]
    fn wait_for<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        early: bool,
    ) -> (LockResult<MutexGuard<'a, T>>, WaitTimeoutResult) {
        let at = Location::caller();
        let cond = self.word.addr();
        runtime::perform(Op::CondWait { cond }, at);
        let mutex = guard.mutex();
        drop(guard);
        let notified = runtime::perform(Op::CondWake { cond, early }, at);
        (mutex.lock(), WaitTimeoutResult(notified == 0))
    }

    /// Releases the mutex, waits to be notified, and takes the mutex again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(guard, false).0
    }

    /// Waits as long as a condition holds.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As `wait`, or until time is up, which may be at any moment.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        match self.wait_for(guard, true) {
            (Ok(guard), result) => Ok((guard, result)),
            (Err(error), result) => Err(std::sync::PoisonError::new((error.into_inner(), result))),
        }
    }

    /// Wakes one thread that waits.
    #[track_caller]
    pub fn notify_one(&self) {
        runtime::perform(Op::CondSignal { cond: self.word.addr() }, Location::caller());
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        runtime::perform(Op::CondBroadcast { cond: self.word.addr() }, Location::caller());
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}

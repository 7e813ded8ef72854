//! Condition variables.
//!
//! `wait_timeout` may time out at any moment; so often per thread as the builder says. That `wait` may return without a
//! notification is explored in a second pass: otherwise a model in which a notification gets lost would never be stuck.

use super::MutexGuard;
use crate::nondet::{for_no_reason, times_out};
use crate::object::Word;
use crate::request::Request;
use crate::runtime;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
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
    pub const fn new() -> Condvar {
        Condvar { word: Word::new("Condvar", 8, 0) }
    }

    #[track_caller]
    fn wait_for<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timed: bool,
    ) -> (LockResult<MutexGuard<'a, T>>, WaitTimeoutResult) {
        let at = Location::caller();
        let cond = self.word.addr();
        let mutex = guard.mutex();
        if for_no_reason("wakes up") {
            drop(guard);
            return (mutex.lock(), WaitTimeoutResult(false));
        }
        runtime::perform(Request::cond_wait(cond), at);
        drop(guard);
        let notified = runtime::perform(Request::cond_wake(cond, timed), at) != 0;
        if timed && !notified {
            times_out();
        }
        (mutex.lock(), WaitTimeoutResult(!notified))
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
            (Err(error), result) => Err(PoisonError::new((error.into_inner(), result))),
        }
    }

    /// As `wait_while`, or until time is up, which may be at any moment.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            let (again, result) = self.wait_timeout(guard, duration)?;
            guard = again;
            if result.timed_out() {
                let waits = condition(&mut *guard);
                return Ok((guard, WaitTimeoutResult(waits)));
            }
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Wakes one thread that waits.
    #[track_caller]
    pub fn notify_one(&self) {
        runtime::perform(Request::cond_signal(self.word.addr()), Location::caller());
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        runtime::perform(Request::cond_broadcast(self.word.addr()), Location::caller());
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}

//! `Once`, `OnceLock`, `LazyLock`.

// What is made once is reached through a pointer.
#![allow(unsafe_code)]

use crate::content::Content;
use crate::once::{Found, OnceWord};
use crate::runtime::At;
use std::fmt;
use std::ops::Deref;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

/// Stands in for `std::sync::Once`.
#[derive(Debug)]
pub struct Once {
    once: OnceWord,
}

/// What a closure of [`Once::call_once_force`] is told.
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether somebody has panicked before.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Once {
    /// It has not happened yet.
    #[track_caller]
    pub const fn new() -> Once {
        Once { once: OnceWord::new("Once") }
    }

    /// Does something unless it was done before; waits if somebody is at it.
    ///
    /// # Panics
    ///
    /// If somebody has panicked before.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let at = Location::caller();
        match self.once.enter(at) {
            Found::New => self.call(at, f),
            Found::Done => {}
            Found::Poisoned => panic!("Once instance has previously been poisoned"),
        }
    }

    /// As `call_once`, whether or not somebody has panicked before.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let at = Location::caller();
        let mut found = self.once.enter(at);
        while found == Found::Poisoned {
            found = match self.once.enter_poisoned(at) {
                Found::Poisoned => return self.call(at, || f(&OnceState { poisoned: true })),
                // Somebody else has tried again, and has panicked or not.
                Found::New => self.once.enter(at),
                Found::Done => Found::Done,
            };
        }
        if found == Found::New {
            self.call(at, || f(&OnceState { poisoned: false }));
        }
    }

    #[track_caller]
    fn call(&self, at: At, f: impl FnOnce()) {
        self.once.during(true, at, f);
        self.once.done(at);
    }

    /// Whether it was done.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.once.is_done(Location::caller())
    }

    /// Waits until it was done.
    ///
    /// # Panics
    ///
    /// If somebody has panicked.
    #[track_caller]
    pub fn wait(&self) {
        assert!(self.once.wait(Location::caller()) != Found::Poisoned, "Once instance has previously been poisoned");
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Once::new()
    }
}

/// Stands in for `std::sync::OnceLock`.
pub struct OnceLock<T> {
    once: OnceWord,
    value: Content<Option<T>>,
}

// SAFETY: the value is written by one thread before others get shared references to it, as in `std`'s.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Without a value.
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: OnceWord::new("OnceLock"), value: Content::new(None) }
    }

    /// The first value is none, which owns nothing.
    #[track_caller]
    fn slot(&self, at: At) -> *mut Option<T> {
        self.value.get(self.once.word(), false, at)
    }

    #[track_caller]
    fn there(&self, at: At) -> &T {
        // SAFETY: the word says that the value was written, which happens before this; it is not written again.
        unsafe { (*self.slot(at)).as_ref().expect("a value that was set is there") }
    }

    /// The value, if there is one.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let at = Location::caller();
        self.once.is_done(at).then(|| self.there(at))
    }

    /// The value, if there is one.
    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.once.word().is_owned(Location::caller());
        self.value.get_mut().as_mut()
    }

    /// Sets the value unless there is one; waits if somebody is at it.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let at = Location::caller();
        if self.once.enter(at) != Found::New {
            return Err(value);
        }
        // SAFETY: the word says that this thread is the one that sets the value.
        unsafe { *self.slot(at) = Some(value) };
        self.once.done(at);
        Ok(())
    }

    /// The value; if there is none, a function makes it. Waits if somebody is at it.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let at = Location::caller();
        if self.once.enter(at) == Found::New {
            let value = self.once.during(false, at, f);
            // SAFETY: the word says that this thread is the one that sets the value.
            unsafe { *self.slot(at) = Some(value) };
            self.once.done(at);
        }
        self.there(at)
    }

    /// Waits for the value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let at = Location::caller();
        self.once.wait(at);
        self.there(at)
    }

    /// The value, if there is one.
    #[track_caller]
    pub fn into_inner(self) -> Option<T> {
        self.once.word().is_owned(Location::caller());
        self.value.into_inner()
    }

    /// Takes the value out; the lock is as good as new.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let lock = OnceLock::new();
        let _ = lock.set(value);
        lock
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    /// Without the value: to look at it is an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

/// Stands in for `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    init: Content<Option<F>>,
}

// SAFETY: as for `OnceLock`; the function is taken by the thread that makes the value.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that is made when it is first used.
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::new(), init: Content::new(Some(f)) }
    }

    /// The value, which is made if it is not there yet.
    ///
    /// # Panics
    ///
    /// If the function has panicked before.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let at = Location::caller();
        let word = this.value.once.word();
        this.value.get_or_init(|| {
            // SAFETY: `get_or_init` lets one thread at a time do this.
            let init = unsafe { (*this.init.get(word, true, at)).take() };
            init.expect("LazyLock instance has previously been poisoned")()
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    /// Without the value: to look at it is an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}

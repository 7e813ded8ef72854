//! Thread-local variables, and what happens when a thread ends.

// References to variables outlive the borrow of the table that they are in.
#![allow(unsafe_code)]

use crate::runtime;
use crate::shared::{Local, PerThread};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

/// Stands in for `std::thread::LocalKey`; made by `thread_local!`.
pub struct LocalKey<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

/// A thread-local variable was used after it had been dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessError(());

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the thread-local variable has been dropped already")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    /// Uses the running thread's variable, which is made if it is not there yet.
    ///
    /// # Panics
    ///
    /// If it has been dropped already.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.pointer() {
            // SAFETY: see `pointer`.
            Ok(value) => f(unsafe { &*value }),
            Err(error) => panic!("{error}"),
        }
    }

    /// As `with`, but says so if the variable has been dropped already.
    #[track_caller]
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        // SAFETY: see `pointer`.
        self.pointer().map(|value| f(unsafe { &*value }))
    }

    /// The variable. It is in a box that stays where it is until the thread ends, so the pointer is good for as long as any
    /// closure that `with` calls can run.
    #[track_caller]
    fn pointer(&'static self) -> Result<*const T, AccessError> {
        let thread = runtime::must_be_inside();
        if let Some(known) = self.find(thread) {
            return known;
        }
        let value: Box<T> = Box::new((self.init)());
        let key = std::ptr::from_ref(self).addr();
        // The initialiser may have used the variable itself.
        if let Some(known) = self.find(thread) {
            return known;
        }
        runtime::shared(|shared| {
            let per_thread = shared.per_thread(thread);
            per_thread.drops_locals |= std::mem::needs_drop::<T>();
            per_thread.locals.push((key, Local::There(value)));
        });
        self.find(thread).expect("the variable has just been made")
    }

    fn find(&'static self, thread: selvedge_machine::ThreadId) -> Option<Result<*const T, AccessError>> {
        let key = std::ptr::from_ref(self).addr();
        runtime::shared(|shared| {
            let locals = &shared.per_thread(thread).locals;
            locals.iter().find(|(other, _)| *other == key).map(|(_, local)| match local {
                Local::There(value) => Ok(std::ptr::from_ref(value.downcast_ref::<T>().expect("a key has one type"))),
                Local::Gone => Err(AccessError(())),
            })
        })
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Replaces the value.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// The value.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value and returns the old one.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Uses the value.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Uses the value, which may be changed.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// A thread-local variable is about to be dropped: a scope does not wait for what its destructor does.
fn scope_may_be_over(thread: selvedge_machine::ThreadId) {
    let is_news = runtime::shared(|shared| {
        let PerThread { is_scoped, drops_locals, .. } = *shared.per_thread(thread);
        is_scoped && drops_locals && !std::thread::panicking() && !std::mem::replace(&mut shared.config.sees_ends, true)
    });
    if is_news {
        runtime::start_again();
    }
}

/// A thread of a model has come to its end: what its destructors have put off is performed, its variables are dropped, and
/// at the end of the model's closure lazy statics too, if all other threads have been joined.
pub(crate) fn thread_ends() {
    let thread = runtime::must_be_inside();
    runtime::perform_deferred();
    loop {
        // The newest first; a destructor may make new ones.
        let local = runtime::shared(|shared| {
            let locals = &mut shared.per_thread(thread).locals;
            let there = locals.iter_mut().rev().find(|(_, local)| matches!(local, Local::There(_)));
            there.map(|(_, local)| std::mem::replace(local, Local::Gone))
        });
        let Some(local) = local else { break };
        scope_may_be_over(thread);
        drop(local);
    }
    while runtime::alone() {
        let Some(lazy) = runtime::shared(|shared| shared.lazies.pop()) else { break };
        drop(lazy);
    }
}

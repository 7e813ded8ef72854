//! What `lazy_static!` makes: a value that is made when it is first used, in every execution anew.

// References to values outlive the borrow of the table that they are in.
#![allow(unsafe_code)]

use crate::once::{Found, OnceWord};
use crate::runtime;
pub use crate::thread::{AccessError, panicking, yield_now};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Stands in for `lazy_static::lazy::Lazy`; made by `lazy_static!`. Its fields are those of loom's.
pub struct Lazy<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

impl<T: 'static> Lazy<T> {
    /// The value in this execution.
    ///
    /// # Panics
    ///
    /// After the end of the model's closure, when it has been dropped.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        runtime::must_be_inside();
        let at = Location::caller();
        let key = std::ptr::from_ref(self).addr();
        let once = OnceWord::of(key, "lazy static", at);
        if once.enter(at) == Found::New {
            let value: Box<T> = Box::new(once.during(false, at, self.init));
            runtime::shared(|shared| shared.lazies.push((key, value)));
            once.done(at);
        }
        let value = runtime::shared(|shared| {
            let value = shared.lazies.iter().find(|(other, _)| *other == key);
            value.map(|(_, value)| std::ptr::from_ref(value.downcast_ref::<T>().expect("a key has one type")))
        });
        match value {
            // SAFETY: the value is in a box that stays where it is until the model's closure has ended and all other
            // threads have; if threads are left, it stays until the run is abandoned with all of them.
            Some(value) => unsafe { &*value },
            None => panic!("a lazy static is used after the end of the model's closure, when it has been dropped"),
        }
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

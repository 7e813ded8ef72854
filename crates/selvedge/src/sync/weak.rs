//! `Weak`: a reference that does not keep the value. Whether there is still a value depends on the count of its `Arc`,
//! which is part of the model as soon as there is a `Weak`.

use super::Arc;
use super::arc::{Made, counts_at, counts_for_nobody};
use crate::object::Word;
use crate::request::Request;
use selvedge_ir::Order;
use std::fmt;
use std::panic::Location;

/// Stands in for `std::sync::Weak`.
pub struct Weak<T: ?Sized> {
    value: std::sync::Weak<T>,
    count: Option<std::sync::Arc<Word>>,
    made: Made,
}

impl<T> Weak<T> {
    /// A reference to nothing.
    pub const fn new() -> Weak<T> {
        Weak { value: std::sync::Weak::new(), count: None, made: Made::OUTSIDE }
    }
}

impl<T: ?Sized> Weak<T> {
    pub(super) fn new_of(value: std::sync::Weak<T>, count: Option<std::sync::Arc<Word>>, made: Made) -> Weak<T> {
        Weak { value, count, made }
    }

    pub(super) fn of(arc: &Arc<T>) -> Weak<T> {
        let value = arc.value.as_ref().map(std::sync::Arc::downgrade).expect("an `Arc` has its value");
        Weak { value, count: arc.count.clone(), made: arc.made }
    }

    /// A reference that keeps the value, if there still is one.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let at = Location::caller();
        if let Some(count) = self.count.as_ref().filter(|_| self.made.is_of_this_run()) {
            let mut now = count.access(Order::Relaxed, Request::load(), at);
            loop {
                if now == 0 {
                    return None;
                }
                let more = Request::cas(now, now + 1, Order::Relaxed);
                match count.access(Order::Acquire, more, at) {
                    old if old == now => break,
                    other => now = other,
                }
            }
        }
        let value = Some(self.value.upgrade()?);
        counts_for_nobody(&value);
        counts_for_nobody(&self.count);
        Some(Arc { value, count: self.count.clone(), made: self.made })
    }

    /// How many references keep the value.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        match self.count.as_ref().filter(|_| self.made.is_of_this_run()) {
            Some(count) => count.access(Order::Relaxed, Request::load(), Location::caller()) as usize,
            None => self.value.strong_count(),
        }
    }

    /// Whether both are references to the same value.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.value.ptr_eq(&other.value)
    }

    /// A pointer to where the value is or was.
    pub fn as_ptr(&self) -> *const T
    where
        T: Sized,
    {
        self.value.as_ptr()
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Weak<T> {
        counts_at(self.value.as_ptr().cast::<u8>().addr());
        counts_for_nobody(&self.count);
        Weak { value: self.value.clone(), count: self.count.clone(), made: self.made }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

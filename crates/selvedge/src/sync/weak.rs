//! `Weak`: a reference that does not keep the value. Whether there is still a value depends on the count of its `Arc`,
//! which is part of the model as soon as there is a `Weak`.

use super::Arc;
use super::arc::{Made, counts_at, counts_for_nobody};
use crate::object::Word;
use crate::request::Request;
use crate::runtime::At;
use crate::update::{self, Update};
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
        if let Some(count) = self.count.as_ref().filter(|_| self.made.is_of_this_run())
            && !is_one_more(count, at)
        {
            return None;
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

/// Counts one reference more if there are any; says whether there are.
fn is_one_more(count: &Word, at: At) -> bool {
    let one_more = |references| (references != 0).then(|| references + 1);
    let (addr, set, fetch) = (count.addr(), Order::Acquire, Order::Relaxed);
    if let Some(done) = update::update_with(Update { addr, size: 8, set, fetch, at }, one_more) {
        return done.is_ok();
    }
    let mut now = count.access(fetch, Request::load(), at);
    while let Some(more) = one_more(now) {
        match count.access(set, Request::cas(now, more, fetch), at) {
            old if old == now => return true,
            other => now = other,
        }
    }
    false
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

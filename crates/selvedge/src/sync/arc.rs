//! `Arc`, with a check for leaks.
//!
//! Which of the threads that drop an `Arc` is the last one decides who drops what is in it. If that does anything that
//! others could notice, the count has to be part of the model: who comes last is then explored like any other race. If
//! what is in it needs no drop at all, nobody can notice, and counting would only multiply executions. So the count of an
//! `Arc<T>` is an atomic of the model if `T` needs to be dropped. If not, it can be asked for only when all other
//! threads have been joined.

// Pinned and raw `Arc`s.
#![allow(unsafe_code)]

use crate::object::Word;
use crate::runtime;
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::AccessKind;
use std::borrow::Borrow;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;

/// Stands in for `std::sync::Arc`.
#[derive(Debug)]
pub struct Arc<T: ?Sized> {
    /// Empty only while it is taken apart.
    value: Option<std::sync::Arc<T>>,
    count: Option<std::sync::Arc<Word>>,
    /// In which run it was made; 0 outside of models.
    run: u64,
}

const WHOLE: &str = "an `Arc` has its value until it is taken apart";

impl<T> Arc<T> {
    /// A value that is shared.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(std::sync::Arc::new(value))
    }

    /// A value that is shared and does not move.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: what an `Arc` contains does not move, and is not given out by reference to be moved.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// The value, if this is the only reference to it.
    #[track_caller]
    pub fn try_unwrap(mut this: Arc<T>) -> Result<T, Arc<T>> {
        if !this.is_unique() {
            return Err(this);
        }
        if this.is_of_this_run() {
            runtime::shared(|shared| shared.live_arcs -= 1);
        }
        let value = this.value.take().expect(WHOLE);
        Ok(std::sync::Arc::into_inner(value).expect("the count is that of the references"))
    }
}

impl<T: ?Sized> Arc<T> {
    /// From one of `std`'s, which has to be the only reference.
    #[track_caller]
    pub fn from_std(mut value: std::sync::Arc<T>) -> Self {
        assert!(std::sync::Arc::get_mut(&mut value).is_some(), "the `Arc` is not unique");
        let inside = runtime::current().is_some() && !std::thread::panicking();
        let run = if inside { runtime::shared(|shared| shared.run) } else { 0 };
        if inside {
            runtime::shared(|shared| shared.live_arcs += 1);
        }
        let counted = inside && std::mem::needs_drop::<T>();
        let count = counted.then(|| std::sync::Arc::new(Word::new("Arc", 8, 1)));
        Arc { value: Some(value), count, run }
    }

    fn value(&self) -> &std::sync::Arc<T> {
        self.value.as_ref().expect(WHOLE)
    }

    fn is_of_this_run(&self) -> bool {
        self.run != 0 && runtime::current().is_some() && runtime::shared(|shared| shared.run == self.run)
    }

    /// How many references there are.
    #[track_caller]
    fn count(&self, order: Order) -> usize {
        let at = Location::caller();
        match &self.count {
            Some(count) => count.access(order, AccessKind::Load, at) as usize,
            None if !self.is_of_this_run() || runtime::alone() => std::sync::Arc::strong_count(self.value()),
            None => runtime::stop(
                "the number of references to an `Arc` of something that needs no drop, while other threads have not \
                 been joined"
                    .to_owned(),
                at,
            ),
        }
    }

    #[track_caller]
    fn is_unique(&self) -> bool {
        self.count(Order::Acquire) == 1
    }

    /// How many references there are.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        this.count(Order::Relaxed)
    }

    /// The value, if this is the only reference to it.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if this.is_unique() { std::sync::Arc::get_mut(this.value.as_mut().expect(WHOLE)) } else { None }
    }

    /// Whether both are references to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(this.value(), other.value())
    }

    /// A pointer to the value.
    pub fn as_ptr(this: &Self) -> *const T {
        std::sync::Arc::as_ptr(this.value())
    }

    /// Becomes a pointer; [`Arc::from_raw`] makes it an `Arc` again.
    pub fn into_raw(mut this: Self) -> *const T {
        let value = this.value.take().expect(WHOLE);
        let pointer = std::sync::Arc::into_raw(value);
        if let Some(count) = this.count.take() {
            runtime::shared(|shared| shared.raw_arcs.insert(pointer.cast::<()>().addr(), count));
        }
        pointer
    }

    /// What [`Arc::into_raw`] has made a pointer of.
    ///
    /// # Safety
    ///
    /// As for `std`'s.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let inside = runtime::current().is_some();
        let key = pointer.cast::<()>().addr();
        let count = if inside { runtime::shared(|shared| shared.raw_arcs.get(&key).cloned()) } else { None };
        let run = if inside { runtime::shared(|shared| shared.run) } else { 0 };
        // SAFETY: the caller has promised that the pointer comes from `into_raw`.
        let value = unsafe { std::sync::Arc::from_raw(pointer) };
        Arc { value: Some(value), count, run }
    }

    /// One reference more.
    ///
    /// # Safety
    ///
    /// As for `std`'s.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller has promised that the pointer comes from `into_raw`, and that it lives.
        let this = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        std::mem::forget(Arc::clone(&this));
    }

    /// One reference less.
    ///
    /// # Safety
    ///
    /// As for `std`'s.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller has promised that the pointer comes from `into_raw`, and that it lives.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        if let Some(count) = &self.count {
            let more = AccessKind::Rmw { op: RmwOp::Add, operand: 1, used: false };
            count.access(Order::Relaxed, more, Location::caller());
        }
        Arc { value: self.value.clone(), count: self.count.clone(), run: self.run }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        let Some(value) = self.value.take() else { return };
        if let Some(count) = &self.count
            && self.is_of_this_run()
        {
            let less = AccessKind::Rmw { op: RmwOp::Sub, operand: 1, used: true };
            count.access(Order::AcqRel, less, Location::caller());
        }
        if std::sync::Arc::strong_count(&value) == 1 && self.is_of_this_run() {
            runtime::shared(|shared| shared.live_arcs -= 1);
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value()
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self.value()
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self.value()
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Arc::new(value)
    }
}

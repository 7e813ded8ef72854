//! `Arc`, with a check for leaks.
//!
//! Which of the threads that drop an `Arc` is the last one decides who drops what is in it. If that does anything that
//! others could notice, the count has to be part of the model: who comes last is then explored like any other race. If
//! what is in it needs no drop at all, nobody can notice, and counting would only multiply executions. So the count of an
//! `Arc<T>` is an atomic of the model if `T` needs to be dropped. If not, and the count is asked for all the same while
//! there are other threads, the exploration starts again and counts all.

// Pinned and raw `Arc`s.
#![allow(unsafe_code)]

use super::Weak;
use crate::object::Word;
use crate::request::Request;
use crate::retry::Spot;
use crate::runtime::{self, At};
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::ViolationKind;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;

/// Stands in for `std::sync::Arc`.
pub struct Arc<T: ?Sized> {
    /// Empty only while it is taken apart.
    pub(super) value: Option<std::sync::Arc<T>>,
    pub(super) count: Option<std::sync::Arc<Word>>,
    pub(super) made: Made,
}

/// When an `Arc` was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    /// In which run; 0 outside of models.
    run: u64,
    /// Its number among what must not be leaked.
    number: u64,
}

impl Made {
    /// Outside of models.
    pub const OUTSIDE: Made = Made { run: 0, number: 0 };

    /// Whether it was in the present run.
    pub fn is_of_this_run(self) -> bool {
        self.run != 0 && runtime::current().is_some() && runtime::shared(|shared| shared.run == self.run)
    }
}

/// There is a `Weak` of an `Arc`: whether there still is one is not known from then on.
fn is_weakened(made: Made, count: Option<&Word>) {
    if let Some(at) = count.filter(|_| made.is_of_this_run()).and_then(Word::made_at) {
        runtime::shared(|shared| shared.weakened.insert(Spot(at)));
    }
}

/// A reference-counted value is about to be made.
#[track_caller]
fn begin<T: ?Sized>(counts: bool, first: u64) -> (Made, Option<std::sync::Arc<Word>>) {
    if runtime::current().is_none() || std::thread::panicking() {
        return (Made::OUTSIDE, None);
    }
    let at = Location::caller();
    let (made, counts_all) =
        runtime::shared(|shared| (Made { run: shared.run, number: shared.born("Arc", at) }, shared.config.count_arcs));
    let counted = counts || counts_all || std::mem::needs_drop::<T>();
    // Not by `then`: a function in between would be the place.
    let count = if counted { Some(std::sync::Arc::new(Word::made("Arc", 8, first))) } else { None };
    (made, count)
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
        if !this.is_given_up() {
            return Err(this);
        }
        this.dies();
        let value = this.value.take().expect(WHOLE);
        Ok(std::sync::Arc::into_inner(value).expect("the count is that of the references"))
    }

    /// The value, if this is the last reference to it; otherwise one reference less.
    #[track_caller]
    pub fn into_inner(mut this: Arc<T>) -> Option<T> {
        if !this.is_of_this_run() {
            return std::sync::Arc::into_inner(this.value.take().expect(WHOLE));
        }
        this.must_be_counted();
        let last = this.one_less(Location::caller());
        let value = this.value.take().expect(WHOLE);
        if !last {
            return None;
        }
        this.dies();
        std::sync::Arc::into_inner(value)
    }

    /// The value, or a copy of it if there are other references.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|this| T::clone(&this))
    }

    /// A value that contains references to itself.
    #[track_caller]
    pub fn new_cyclic<F>(data: F) -> Arc<T>
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        // Until the value is there, nobody has a reference to it.
        let (made, count) = begin::<T>(true, 0);
        is_weakened(made, count.as_deref());
        let value = std::sync::Arc::new_cyclic(|weak| data(&Weak::new_of(weak.clone(), count.clone(), made)));
        if let Some(count) = &count {
            count.access(Order::Release, Request::rmw(RmwOp::Add, 1, false), Location::caller());
        }
        Arc { value: Some(value), count, made }
    }
}

impl<T: ?Sized> Arc<T> {
    /// From one of `std`'s, which has to be the only reference.
    #[track_caller]
    pub fn from_std(mut value: std::sync::Arc<T>) -> Self {
        assert!(std::sync::Arc::get_mut(&mut value).is_some(), "the `Arc` is not unique");
        let (made, count) = begin::<T>(false, 1);
        Arc { value: Some(value), count, made }
    }

    fn value(&self) -> &std::sync::Arc<T> {
        self.value.as_ref().expect(WHOLE)
    }

    fn is_of_this_run(&self) -> bool {
        self.made.is_of_this_run()
    }

    /// The last reference is dropped.
    fn dies(&self) {
        if self.is_of_this_run() {
            runtime::shared(|shared| shared.died(self.made.number));
        }
    }

    /// The value is about to be dropped: if its references are counted in the model, what the others did comes before that.
    fn counts_in_model(&self, value: &std::sync::Arc<T>) {
        if self.count.is_some() && self.is_of_this_run() {
            let place = std::sync::Arc::as_ptr(value).cast::<u8>().addr();
            runtime::shared(|shared| shared.blocks.counts_in_model(place));
        }
    }

    /// If the references are not counted, everything starts again, and they are.
    #[track_caller]
    pub(super) fn must_be_counted(&self) {
        if self.count.is_none() && self.is_of_this_run() && !std::thread::panicking() {
            runtime::shared(|shared| shared.config.count_arcs = true);
            runtime::start_again();
        }
    }

    /// How many references there are.
    #[track_caller]
    fn count(&self, order: Order) -> usize {
        match &self.count {
            Some(count) => count.access(order, Request::load(), Location::caller()) as usize,
            None if !self.is_of_this_run() || runtime::alone() => std::sync::Arc::strong_count(self.value()),
            None => {
                self.must_be_counted();
                std::sync::Arc::strong_count(self.value())
            }
        }
    }

    /// Counts one reference less; says whether it was the last one.
    #[track_caller]
    fn one_less(&self, at: At) -> bool {
        match &self.count {
            Some(count) if self.is_of_this_run() => {
                let less = Request::rmw(RmwOp::Sub, 1, true);
                match count.access(Order::Release, less, at) {
                    0 if !std::thread::panicking() => is_dropped_too_often(at),
                    1 => {
                        // As in `std`, only who is the last sees what the others have done.
                        count.access(Order::Acquire, Request::load(), at);
                        true
                    }
                    _ => false,
                }
            }
            _ => std::sync::Arc::strong_count(self.value()) == 1,
        }
    }

    /// Gives the reference up if it is the only one, which `Weak`s can see; whether it is.
    #[track_caller]
    fn is_given_up(&self) -> bool {
        match &self.count {
            Some(count) if self.is_of_this_run() => {
                let none = Request::cas(1, 0, Order::Relaxed);
                count.access(Order::Acquire, none, Location::caller()) == 1
            }
            _ => self.is_unique(),
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

    /// How many `Weak`s there are. They are no part of the model: while there are other threads, this is refused.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        if this.is_of_this_run() && !runtime::alone() {
            runtime::stop("`Arc::weak_count` while there are other threads".to_owned(), Location::caller());
        }
        std::sync::Arc::weak_count(this.value())
    }

    /// The value, if this is the only reference to it.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if !this.is_unique() {
            return None;
        }
        this.must_not_be_weakened(Location::caller());
        // If nobody else is there, how many `Weak`s there are is what there can be.
        std::sync::Arc::get_mut(this.value.as_mut().expect(WHOLE))
    }

    /// `Weak`s are not counted in the model. So whether there is still one is not known while there are other threads, if there
    /// ever was one; where the count of the `Arc` was made says which ones may have had any.
    #[track_caller]
    fn must_not_be_weakened(&self, at: At) {
        let made = self.count.as_deref().filter(|_| self.is_of_this_run()).and_then(Word::made_at);
        let weakened = made.is_some_and(|made| runtime::shared(|shared| shared.weakened.contains(&Spot(made))));
        if weakened && !runtime::alone() && !std::thread::panicking() {
            let feature = "`Arc::get_mut` of an `Arc` of which there are, or were, `Weak` references, while there are other threads";
            runtime::stop(feature.to_owned(), at);
        }
    }

    /// A reference that does not keep the value.
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        this.must_be_counted();
        is_weakened(this.made, this.count.as_deref());
        Weak::of(this)
    }

    /// The value for changes; if there are other references, it is copied first.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T
    where
        T: Clone,
    {
        if Arc::get_mut(this).is_none() {
            *this = Arc::new(T::clone(this));
        }
        std::sync::Arc::get_mut(this.value.as_mut().expect(WHOLE)).expect("there is no other reference")
    }

    /// Whether both are references to the same value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(this.value(), other.value())
    }

    /// A pointer to the value, which [`Arc::from_raw`] makes an `Arc` again, as long as the references are as many as they count.
    pub fn as_ptr(this: &Self) -> *const T {
        let pointer = std::sync::Arc::as_ptr(this.value());
        if this.is_of_this_run() {
            counts_for_nobody(&this.count);
            runtime::shared(|shared| {
                let raw = shared.raw_arcs.entry(pointer.cast::<()>().addr());
                raw.or_insert_with(|| (this.count.clone(), this.made.number));
            });
        }
        pointer
    }

    /// Becomes a pointer; [`Arc::from_raw`] makes it an `Arc` again.
    pub fn into_raw(mut this: Self) -> *const T {
        let value = this.value.take().expect(WHOLE);
        let pointer = std::sync::Arc::into_raw(value);
        if this.is_of_this_run() {
            let known = (this.count.take(), this.made.number);
            runtime::shared(|shared| shared.raw_arcs.insert(pointer.cast::<()>().addr(), known));
        }
        pointer
    }

    /// What [`Arc::into_raw`] has made a pointer of, or [`Arc::as_ptr`].
    ///
    /// # Safety
    ///
    /// As for `std`'s.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let (count, made) = known_by(pointer.cast::<()>().addr());
        // SAFETY: the caller has promised that the pointer comes from `into_raw`, or that a reference was forgotten.
        let value = unsafe { std::sync::Arc::from_raw(pointer) };
        Arc { value: Some(value), count, made }
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
            let more = Request::rmw(RmwOp::Add, 1, false);
            count.access(Order::Relaxed, more, Location::caller());
        }
        let arc = Arc { value: self.value.clone(), count: self.count.clone(), made: self.made };
        counts_for_nobody(&arc.value);
        counts_for_nobody(&arc.count);
        arc
    }
}

/// Stops the thread because it gives up a reference that is none.
fn is_dropped_too_often(at: At) -> ! {
    let message = "an `Arc` is dropped more often than there are references".to_owned();
    runtime::fail(ViolationKind::DoubleFree, message, at)
}

/// What belongs to the value of an `Arc` at some address: a count, and when it was made.
#[track_caller]
fn known_by(at: usize) -> (Option<std::sync::Arc<Word>>, Made) {
    if runtime::current().is_none() {
        return (None, Made::OUTSIDE);
    }
    let (known, is_of_model, is_freed) = runtime::shared(|shared| {
        let known = shared.raw_arcs.get(&at).cloned();
        let known = known.map(|(count, number)| (count, Made { run: shared.run, number }));
        (known, shared.blocks.find(at).is_some(), shared.blocks.is_freed(at))
    });
    if known.is_some() && is_freed && !std::thread::panicking() {
        let message = "a pointer becomes an `Arc` after the last reference to the value was dropped".to_owned();
        runtime::fail(ViolationKind::UseAfterFree, message, Location::caller());
    }
    if known.is_none() && is_of_model && !std::thread::panicking() {
        // References that it does not know would not be counted.
        let feature = "`Arc::from_raw` of a pointer that comes neither from `Arc::into_raw` nor from `Arc::as_ptr`";
        runtime::stop(feature.to_owned(), Location::caller());
    }
    known.unwrap_or((None, Made::OUTSIDE))
}

/// References to something are counted by `std` as well, which nobody can see (`restored.rs`).
#[inline(never)]
pub(super) fn counts_for_nobody<T: ?Sized>(counted: &Option<std::sync::Arc<T>>) {
    if let Some(counted) = counted {
        counts_at(std::sync::Arc::as_ptr(counted).cast::<u8>().addr());
    }
}

/// The same, by the address of the value.
pub(super) fn counts_at(value: usize) {
    if runtime::current().is_some() {
        runtime::shared(|shared| shared.notes_count(value));
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.value.is_none() {
            return;
        }
        if self.count.is_some() {
            self.one_less(Location::caller());
        } else if std::sync::Arc::strong_count(self.value()) == 0 && self.is_of_this_run() && !std::thread::panicking()
        {
            // The memory of this execution is still there.
            is_dropped_too_often(Location::caller());
        }
        counts_for_nobody(&self.value);
        counts_for_nobody(&self.count);
        let value = self.value.take().expect(WHOLE);
        if std::sync::Arc::strong_count(&value) == 1 {
            self.dies();
            self.counts_in_model(&value);
        }
        drop(value);
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(self.value(), f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized> Unpin for Arc<T> {}
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for Arc<T> {}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Self {
        Arc::from_std(value.into())
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    #[track_caller]
    fn from(values: Vec<T>) -> Self {
        Arc::from_std(values.into())
    }
}

impl From<&str> for Arc<str> {
    #[track_caller]
    fn from(text: &str) -> Self {
        Arc::from_std(text.into())
    }
}

impl From<String> for Arc<str> {
    #[track_caller]
    fn from(text: String) -> Self {
        Arc::from_std(text.into())
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    #[track_caller]
    fn from(values: &[T]) -> Self {
        Arc::from_std(values.into())
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    #[track_caller]
    fn from(values: [T; N]) -> Self {
        Arc::from_std(std::sync::Arc::new(values))
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Arc::from_std(values.into_iter().collect())
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

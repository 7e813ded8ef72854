//! Cells: what threads share without synchronisation. Two accesses, one of them a write, of which neither happens before
//! the other are a data race.
//!
//! What a cell contains stays where it is. The engine sees an access of one byte that stands for all of it. As long as
//! there is no race, the accesses to it are ordered, and they are carried out in that order. An access lasts as long as its
//! closure runs, or as its pointer lives (`borrow.rs`).

// What `ConstPtr` and `MutPtr` point to is reached by unsafe functions, as in loom.
#![allow(unsafe_code)]

use crate::borrow::{self, During, Pointer, Use};
use crate::object::Word;
use crate::runtime;
use std::panic::Location;

/// What reports call cells.
const UNSAFE_CELL: &str = "UnsafeCell";
const RAW_CELL: &str = "RawCell";
const CELL: &str = "Cell";

/// Whether an object is a cell. What the engine says that one contains says nothing.
pub(crate) fn is_cell(what: &str) -> bool {
    [UNSAFE_CELL, RAW_CELL, CELL].contains(&what)
}

/// Stands in for `std::cell::UnsafeCell`; accesses are made by closures.
#[derive(Debug)]
pub struct UnsafeCell<T: ?Sized> {
    word: Word,
    data: std::cell::UnsafeCell<T>,
}

/// A pointer into an [`UnsafeCell`] for reading. The cell counts as being read until this is dropped.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    word: Word,
    data: *const T,
}

/// A pointer into an [`UnsafeCell`] for reading and writing. The cell counts as being written until this is dropped.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    word: Word,
    data: *mut T,
}

#[track_caller]
fn reads(word: &Word) {
    borrow::touch_again(word, Use::Reads, Location::caller());
}

#[track_caller]
fn writes(word: &Word) {
    borrow::touch_again(word, Use::Writes, Location::caller());
}

/// What a cell contains is taken out of it. That is a write: what others did must come before it.
#[track_caller]
fn is_taken_out(word: &Word) {
    // A cell that was made outside of models may be used up there.
    if runtime::current().is_some() && !std::thread::panicking() && word.is_of_this_run() {
        writes(word);
    }
}

impl<T> UnsafeCell<T> {
    /// A cell.
    #[track_caller]
    pub fn new(data: T) -> UnsafeCell<T> {
        UnsafeCell { word: Word::made(UNSAFE_CELL, 1, 0), data: std::cell::UnsafeCell::new(data) }
    }

    /// What it contains.
    #[track_caller]
    pub fn into_inner(self) -> T {
        is_taken_out(&self.word);
        self.data.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads it. The access lasts until the closure returns.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _during = During::begin(&self.word, Use::Reads, Location::caller());
        f(self.data.get().cast_const())
    }

    /// Reads and writes it. The access lasts until the closure returns.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _during = During::begin(&self.word, Use::Writes, Location::caller());
        runtime::announce(&self.data);
        f(self.data.get())
    }

    /// A pointer to read it.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        borrow::begin_pointer(&self.word, Use::Reads, Location::caller(), Pointer::to(self.data.get()));
        ConstPtr { word: self.word.copy(), data: self.data.get().cast_const() }
    }

    /// A pointer to read and write it.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        borrow::begin_pointer(&self.word, Use::Writes, Location::caller(), Pointer::to(self.data.get()));
        MutPtr { word: self.word.copy(), data: self.data.get() }
    }
}

impl<T: ?Sized> Drop for ConstPtr<T> {
    fn drop(&mut self) {
        borrow::end(&self.word, Use::Reads, self.data.cast::<u8>().addr());
    }
}

impl<T: ?Sized> Drop for MutPtr<T> {
    fn drop(&mut self) {
        borrow::end(&self.word, Use::Writes, self.data.cast::<u8>().addr());
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// What it points to.
    ///
    /// # Safety
    ///
    /// As for a raw pointer. A race is reported before anything is read.
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        reads(&self.word);
        // SAFETY: the caller has promised that the pointer may be dereferenced.
        unsafe { &*self.data }
    }

    /// Reads it.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        reads(&self.word);
        f(self.data)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// What it points to.
    ///
    /// # Safety
    ///
    /// As for a raw pointer. A race is reported before anything is read or written.
    #[track_caller]
    #[allow(clippy::mut_from_ref, reason = "loom's signature")]
    pub unsafe fn deref(&self) -> &mut T {
        writes(&self.word);
        // SAFETY: the caller has promised that the pointer may be dereferenced.
        unsafe { &mut *self.data }
    }

    /// Reads and writes it.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        writes(&self.word);
        f(self.data)
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(data: T) -> Self {
        UnsafeCell::new(data)
    }
}

/// Stands in for `std::cell::UnsafeCell` where code needs its own shape: [`get`](RawCell::get) gives a raw pointer. What is
/// done with that is not seen, so it counts as a write, also if the pointer is only read through.
#[derive(Debug)]
pub struct RawCell<T: ?Sized> {
    word: Word,
    data: std::cell::UnsafeCell<T>,
}

impl<T> RawCell<T> {
    /// A cell.
    #[track_caller]
    pub fn new(data: T) -> RawCell<T> {
        RawCell { word: Word::made(RAW_CELL, 1, 0), data: std::cell::UnsafeCell::new(data) }
    }

    /// What it contains.
    #[track_caller]
    pub fn into_inner(self) -> T {
        is_taken_out(&self.word);
        self.data.into_inner()
    }
}

/// A pointer to a raw cell is given out: nobody sees what becomes of it.
fn is_left_alone() {
    if runtime::current().is_some() {
        runtime::shared(|shared| shared.left_out.raw_cells = true);
    }
}

impl<T: ?Sized> RawCell<T> {
    /// A pointer to what it contains. That is a write; what is done through it later is not looked at.
    #[track_caller]
    pub fn get(&self) -> *mut T {
        is_left_alone();
        writes(&self.word);
        self.data.get()
    }

    /// A pointer to what it contains, to be read through only. That is a read; what is done through it later is not looked at.
    #[track_caller]
    pub fn get_const(&self) -> *const T {
        is_left_alone();
        reads(&self.word);
        self.data.get().cast_const()
    }

    /// What it contains, if nobody else has it. That is a write: what others did must come before it.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        writes(&self.word);
        self.data.get_mut()
    }
}

impl<T: Default> Default for RawCell<T> {
    #[track_caller]
    fn default() -> Self {
        RawCell::new(T::default())
    }
}

impl<T> From<T> for RawCell<T> {
    #[track_caller]
    fn from(data: T) -> Self {
        RawCell::new(data)
    }
}

/// Stands in for `std::cell::Cell`.
pub struct Cell<T> {
    word: Word,
    data: std::cell::Cell<T>,
}

impl<T> Cell<T> {
    /// A cell.
    #[track_caller]
    pub fn new(data: T) -> Cell<T> {
        Cell { word: Word::made(CELL, 1, 0), data: std::cell::Cell::new(data) }
    }

    /// Replaces the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        self.replace(value);
    }

    /// Exchanges the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if !std::ptr::eq(self, other) {
            writes(&self.word);
            writes(&other.word);
            self.data.swap(&other.data);
        }
    }

    /// Replaces the value and returns the old one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        writes(&self.word);
        self.data.replace(value)
    }

    /// The value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        reads(&self.word);
        self.data.get()
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        is_taken_out(&self.word);
        self.data.into_inner()
    }
}

impl<T> std::fmt::Debug for Cell<T> {
    /// Without the value: to look at it is an access.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cell").finish_non_exhaustive()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(data: T) -> Self {
        Cell::new(data)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

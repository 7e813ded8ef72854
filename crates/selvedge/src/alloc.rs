//! Memory and values that must not be leaked.
//!
//! What is in a block from [`alloc()`] dies with it: an access to an atomic or lock in it that does not happen before
//! [`dealloc`] is a failure.

// These are unsafe functions, as in `std`.
#![allow(unsafe_code)]

pub use crate::blocks::Tracking;
use crate::report::BLOCK;
use crate::request::Request;
use crate::runtime;
use selvedge_machine::ViolationKind;
#[doc(no_inline)]
pub use std::alloc::Layout;
use std::panic::Location;

/// Stands in for `std::alloc::alloc`; the block has to be freed before the model ends.
///
/// # Safety
///
/// As for `std`'s.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller keeps the contract.
    let block = unsafe { std::alloc::alloc(layout) };
    note(block, layout);
    block
}

/// Stands in for `std::alloc::alloc_zeroed`; the block has to be freed before the model ends.
///
/// # Safety
///
/// As for `std`'s.
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller keeps the contract.
    let block = unsafe { std::alloc::alloc_zeroed(layout) };
    note(block, layout);
    block
}

/// Stands in for `std::alloc::dealloc`.
///
/// # Safety
///
/// As for `std`'s. A block that was freed already, or that does not come from [`alloc()`], is a failure.
#[track_caller]
pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    let at = Location::caller();
    if runtime::current().is_some() {
        let known = runtime::shared(|shared| shared.allocations.remove(&block.addr()));
        match known {
            Some((addr, number)) => {
                runtime::shared(|shared| shared.died(number));
                runtime::perform(Request::free(addr, layout.size().max(1) as u64), at);
            }
            None if std::thread::panicking() => return,
            None => {
                let message = "`dealloc` of a block that was freed already, or that does not come from `alloc`";
                runtime::fail(ViolationKind::InvalidFree, message.to_owned(), at);
            }
        }
    }
    // SAFETY: the caller keeps the contract. Inside a model the block is given back when the execution is over.
    unsafe { std::alloc::dealloc(block, layout) }
}

#[track_caller]
fn note(block: *mut u8, layout: Layout) {
    let at = Location::caller();
    let Some(thread) = runtime::current().filter(|_| !block.is_null() && !std::thread::panicking()) else { return };
    runtime::shared(|shared| {
        let number = shared.born(BLOCK, at);
        let addr = shared.allocate(thread, block.addr(), layout.size(), at);
        shared.allocations.insert(block.addr(), (addr, number));
    });
}

/// A value that has to be dropped before the model ends; otherwise it is a leak.
#[derive(Debug)]
pub struct Track<T> {
    /// Empty only while it is taken apart.
    value: Option<T>,
    run: u64,
    number: u64,
}

const WHOLE: &str = "there is a value until it is taken out";

impl<T> Track<T> {
    /// A value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        let at = Location::caller();
        let inside = runtime::current().is_some() && !std::thread::panicking();
        let made = || runtime::shared(|shared| (shared.run, shared.born("value in `Track`", at)));
        let (run, number) = if inside { made() } else { (0, 0) };
        Track { value: Some(value), run, number }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        self.value.as_ref().expect(WHOLE)
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(WHOLE)
    }

    /// Takes the value out.
    pub fn into_inner(mut self) -> T {
        self.value.take().expect(WHOLE)
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        if runtime::current().is_some() {
            runtime::shared(|shared| {
                if shared.run == self.run {
                    shared.died(self.number);
                }
            });
        }
    }
}

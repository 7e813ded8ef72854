//! A program that has an allocator of its own wraps it in `Tracking`.
//! Built with the feature `own-allocator` only: `cargo test -p selvedge --features own-allocator --test own_allocator`.

#![cfg(feature = "own-allocator")]
#![allow(unsafe_code)]

use selvedge::alloc::Tracking;
use selvedge::model::Builder;
use selvedge::sync::Arc;
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use selvedge::{hint, thread};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicUsize as Count;

/// Counts what it is asked for.
struct Counting;

static CALLS: Count = Count::new(0);

// SAFETY: it does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Tracking<Counting> = Tracking(Counting);

#[test]
fn what_models_allocate_is_known() {
    let before = CALLS.load(Relaxed);
    let stats = Builder::new().explore(|| {
        let shared = Arc::new(AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>()));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.store(Box::into_raw(Box::new(AtomicUsize::new(7))), std::sync::atomic::Ordering::Release);
        });
        let mut found = shared.load(Acquire);
        while found.is_null() {
            hint::spin_loop();
            found = shared.load(Acquire);
        }
        // SAFETY: the other thread has made it and gives it away.
        let boxed = unsafe { Box::from_raw(found) };
        assert_eq!(boxed.fetch_add(1, AcqRel), 7);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.complete >= 1);
    assert!(CALLS.load(Relaxed) > before, "it is asked for what models allocate");
}

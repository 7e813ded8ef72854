//! The allocator that notes what the threads of a model allocate (`blocks.rs`), and who may use what it has noted.

// An allocator.
#![allow(unsafe_code)]

use super::{Blocks, Freed};
use crate::runtime;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// An allocator that notes what the threads of a model allocate; for all else it is the one that it is made of.
///
/// This crate installs it unless its feature `allocator` is off. A program that has an allocator of its own switches the
/// feature off and wraps its own:
///
/// ```text
/// #[global_allocator]
/// static ALLOCATOR: selvedge::alloc::Tracking<MyAllocator> = selvedge::alloc::Tracking(MyAllocator);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracking<A = System>(pub A);

#[cfg(not(feature = "own-allocator"))]
#[global_allocator]
static ALLOCATOR: Tracking = Tracking(System);

thread_local! {
    /// The blocks of the model that this thread of the operating system runs; null if none. Owned by [`Installed`].
    static BLOCKS: Cell<*mut Blocks> = const { Cell::new(std::ptr::null_mut()) };
    /// More than 0 while the library itself works on a model's stack.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: blocks come from and go to the inner allocator with the layouts that the caller gives; what a model's thread frees
// goes there later.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Tracking<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if runtime::is_inside() {
            // SAFETY: the caller keeps the contract.
            return noted(layout, Fresh::Filled, || unsafe { self.0.alloc(layout) });
        }
        // SAFETY: as above.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if runtime::is_inside() {
            // SAFETY: the caller keeps the contract.
            return noted(layout, Fresh::Zeroed, || unsafe { self.0.alloc_zeroed(layout) });
        }
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !runtime::is_inside() {
            // SAFETY: the caller keeps the contract.
            return unsafe { self.0.dealloc(block, layout) };
        }
        match with(|blocks| blocks.free(block.addr(), layout)) {
            Some(Freed::Kept) => runtime::tidy(),
            Some(Freed::Holding) => {
                runtime::frees(block.addr());
                runtime::tidy();
            }
            Some(Freed::Other) => {
                // SAFETY: the caller keeps the contract.
                quiet(|| unsafe { self.0.dealloc(block, layout) });
                runtime::tidy();
            }
            Some(Freed::Twice) => runtime::freed_twice(),
            // SAFETY: the caller keeps the contract.
            None => unsafe { self.0.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if with(|_| ()).is_none() {
            // SAFETY: the caller keeps the contract.
            return unsafe { self.0.realloc(block, layout, size) };
        }
        // SAFETY: the size is not zero and does not overflow, as the caller promises.
        let layout_of_new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above; the old block is copied as far as both reach, and is freed with its own layout.
        unsafe {
            let new = self.alloc(layout_of_new);
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                runtime::move_objects(block.addr()..block.addr() + layout.size(), new.addr());
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// The blocks, if a model's own code runs.
#[inline]
fn with<R>(f: impl FnOnce(&mut Blocks) -> R) -> Option<R> {
    if !runtime::is_inside() || QUIET.get() > 0 || runtime::is_busy() {
        return None;
    }
    let blocks = BLOCKS.get();
    if blocks.is_null() {
        return None;
    }
    // SAFETY: `Installed` has put a pointer there that lives until `BLOCKS` is null again. No other reference is in use: the
    // library uses its own inside `runtime::shared` only, and then it is busy; and `QUIET` keeps this function from itself.
    quiet(|| Some(f(unsafe { &mut *blocks })))
}

/// Does something on a model's stack that is not the model's own work: what it allocates is not noted.
pub(crate) fn quiet<R>(f: impl FnOnce() -> R) -> R {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            QUIET.set(QUIET.get() - 1);
        }
    }
    QUIET.set(QUIET.get() + 1);
    let _loud = Loud;
    f()
}

/// Whether an allocator, or the library itself, is at work on the stack of the model's thread that runs.
pub(crate) fn is_at_work() -> bool {
    QUIET.get() > 0
}

/// Whether [`Tracking`] is the program's allocator; asked on a model's stack.
pub(crate) fn is_installed() -> bool {
    // Nobody else allocates such a block, so that others are known by the same numbers in runs in which this is not asked.
    let layout = Layout::from_size_align(8191, 1).expect("it is not too large");
    // SAFETY: the layout has a size, and the block is freed with the same one.
    unsafe {
        let block = std::hint::black_box(std::alloc::alloc(layout));
        let found = with(|blocks| blocks.find(block.addr()).is_some()).unwrap_or(false);
        if !block.is_null() {
            std::alloc::dealloc(block, layout);
        }
        found
    }
}

/// A run starts. A thread may have been abandoned while it was quiet.
pub(crate) fn loud() {
    QUIET.set(0);
}

/// What is in a block that the inner allocator gives out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fresh {
    Filled,
    Zeroed,
}

/// A block for what runs on the stack of a model's thread. If that is the model's own code, it is one that another run has freed, or
/// a new one, and is noted.
///
/// What allocators have left below on the stack is cleared, if that is compared. They leave pointers to what they keep between
/// blocks: that is the end of one block, or even part of it, and would be taken for a pointer to it. And lists of blocks grow
/// in some runs only.
fn noted(layout: Layout, fresh: Fresh, new: impl Fn() -> *mut u8) -> *mut u8 {
    let own = with(|blocks| {
        let kind = blocks.kinds.of(layout);
        let used = blocks.kinds.take(kind);
        let is_clear = used.is_none() && fresh == Fresh::Zeroed;
        let block = used.map_or_else(&new, std::ptr::with_exposed_provenance_mut);
        if !block.is_null() {
            blocks.note(block.addr(), layout, kind);
            // Large ones that the system gives out are not there before somebody writes to them.
            if !is_clear {
                // SAFETY: the block has this layout, and is given to who asks for it just now.
                unsafe { clear(block, layout.size()) };
            }
        }
        block
    });
    match own {
        Some(block) => {
            runtime::tidy();
            block
        }
        None => new(),
    }
}

/// Clears a block. Memory is compared, with that of other runs too: what was left over in it would tell them apart.
///
/// # Safety
///
/// The block is that large.
unsafe fn clear(block: *mut u8, size: usize) {
    if size > 64 || !(block.addr() | size).is_multiple_of(8) {
        // SAFETY: as the caller says.
        return unsafe { block.write_bytes(0, size) };
    }
    // Most are a few words: to call a function for these takes longer.
    for n in 0..size / 8 {
        // SAFETY: it is in the block, and words are aligned there.
        unsafe { block.cast::<u64>().add(n).write_volatile(0) };
    }
}

/// The blocks of the model that runs on this thread of the operating system. The allocator and the library use them in
/// turns.
pub(crate) struct Installed(*mut Blocks);

impl Installed {
    /// Blocks that the allocator does not know of yet.
    pub fn new() -> Installed {
        Installed(Box::into_raw(Box::<Blocks>::default()))
    }

    /// From now on the allocator notes what the model's threads allocate.
    pub fn install(&mut self) {
        if self.kinds.are_many() {
            self.give_up_spare();
        }
        BLOCKS.set(self.0);
    }

    /// From now on it does not.
    pub fn uninstall(&mut self) {
        BLOCKS.set(std::ptr::null_mut());
        self.new_run();
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.uninstall();
        // SAFETY: it comes from `Box::into_raw`, and the allocator does not know it any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Deref for Installed {
    type Target = Blocks;

    fn deref(&self) -> &Blocks {
        // SAFETY: it lives as long as this. The allocator uses it only while the library is not busy and a thread of the model runs; the
        // library uses it inside `runtime::shared`, when it is busy, or while no thread of the model runs.
        unsafe { &*self.0 }
    }
}

impl DerefMut for Installed {
    fn deref_mut(&mut self) -> &mut Blocks {
        // SAFETY: as above.
        unsafe { &mut *self.0 }
    }
}

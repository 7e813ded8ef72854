//! What is to be done before a thread's next operation, since the allocator has heard of blocks: nothing can be performed there.

use super::{THREAD, UNUSUAL, alone, perform_now, scrub, shared, shared_untidily};
use crate::freed;
use crate::request::Request;
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, ThreadId};
use std::cell::Cell;
use std::ops::Range;

thread_local! {
    /// What it is: [`FREES`], [`LOOKS`].
    static DUE: Cell<u8> = const { Cell::new(0) };
}

/// Blocks may have been freed of which the engine has to be told (`freed.rs`).
const FREES: u8 = 1;
/// Blocks have been allocated that are to be looked at (`blocks/counted.rs`).
const LOOKS: u8 = 2;

/// Whether there is anything.
#[inline]
pub(super) fn is_any() -> bool {
    DUE.get() != 0
}

/// Tells the engine of blocks that the running thread has freed since its last operation, and looks at those that were allocated.
#[cold]
#[inline(never)]
pub(crate) fn perform_frees() {
    if DUE.get() & LOOKS != 0 {
        look_at_fresh();
    }
    if DUE.get() & FREES == 0 || std::thread::panicking() {
        return;
    }
    while let Some((addr, size)) = next_free() {
        perform_free(Request::free(addr, size));
    }
    if UNUSUAL.get() {
        scrub();
    }
}

#[inline(never)]
fn look_at_fresh() {
    let looks_again = shared_untidily(|shared| {
        shared.blocks.look_at_fresh();
        shared.blocks.has_fresh()
    });
    set_due(LOOKS, looks_again);
    if UNUSUAL.get() {
        scrub();
    }
}

/// The next object of which it has to be told.
#[inline(never)]
fn next_free() -> Option<(Addr, u64)> {
    let thread = ThreadId::new(THREAD.get());
    let (next, is_last) = shared_untidily(|shared| shared.next_free(thread));
    set_due(FREES, !is_last);
    next
}

#[inline]
fn set_due(what: u8, is_due: bool) {
    DUE.set(if is_due { DUE.get() | what } else { DUE.get() & !what });
}

/// Before the next operation, blocks are looked at that were allocated.
#[inline]
pub(crate) fn has_to_look() {
    set_due(LOOKS, true);
}

#[inline(never)]
fn perform_free(request: Request) {
    perform_now(request, freed::place());
}

/// The running thread has freed a block in which there were objects.
#[cold]
#[inline(never)]
pub(crate) fn frees(block: usize) {
    let thread = ThreadId::new(THREAD.get());
    if !std::thread::panicking() && !alone() && shared(|shared| shared.frees(block, thread)) {
        set_due(FREES, true);
    }
}

/// The running thread has moved what is in a block to another one.
#[inline]
pub(crate) fn move_objects(from: Range<usize>, to: usize) {
    shared(|shared| shared.move_objects(from, to));
}

/// A thread was put back: whether there is something to do before the next operation.
pub(crate) fn owes(frees: bool, looks: bool) {
    DUE.set(if frees { FREES } else { 0 } | if looks { LOOKS } else { 0 });
}

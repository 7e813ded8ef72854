//! `fetch_update` as a confirmation loop.
//!
//! `fetch_update` loads a value, computes a new one, and exchanges the two; if somebody has come in between, it does all
//! that again. With an execution for every attempt that fails, n threads that count have far more than the n! executions
//! that differ. So the load is *speculative* and the exchange *confirms* it (TruSt with awaits, section 3.3; the engine's
//! `speculative.rs`): an exchange that would fail waits instead, and the load is revisited.
//!
//! Nothing is lost if an attempt that fails leaves no trace. Let G be an execution in which an attempt fails: it loads v,
//! computes, and the exchange finds u instead. Then G without the load of v, in which the failed exchange is the load, is
//! an execution too: both read u with the same order, and to take away a read takes away edges only. If the computation has
//! changed nothing, the thread is in the same state there, and goes on in the same way.
//!
//! Whether the computation has changed something is looked at: the stack of the thread above this function's frame, and all
//! memory that the model has allocated, are compared before and after; so are the stacks of the others, by the machine, which
//! knows where they are. If it has (it counts its calls, for instance), or
//! if it performs operations of its own, the exploration starts again, and attempts of all `fetch_update`s are explored one
//! by one. What is not seen are changes of memory from outside of the model: of `std`'s atomics, of statics. As everywhere,
//! what threads do must not depend on these.
//!
//! An attempt that fails for no reason leaves no trace either, so none does.
//!
//! If there is nothing to be exchanged (the function returns `None`), the load was a load like any other. That this may
//! happen is found out when it does: the exploration starts again, and the engine tries out, for every value, what comes of
//! it. That takes time, so it is not done for functions that always return something.

// The stack is looked at.
#![allow(unsafe_code)]

use crate::request::Request;
use crate::runtime::{self, At};
use selvedge_ir::{Order, Speculation};
use selvedge_machine::Addr;
use std::hint::black_box;

/// How updates are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Updates {
    /// Every load is confirmed.
    #[default]
    Always,
    /// Some are not.
    Sometimes,
    /// Attempt by attempt.
    OneByOne,
}

/// What is updated, and how.
#[derive(Clone, Copy)]
pub(crate) struct Update {
    pub addr: Addr,
    pub size: u8,
    /// The orders of the exchange and of the load.
    pub set: Order,
    pub fetch: Order,
    pub at: At,
}

/// Updates a word; the old value, and whether it was exchanged. None if attempts are to be made one by one.
///
/// Never inlined: what it keeps must not be part of the frame of the model's code.
#[inline(never)]
pub(crate) fn update(update: Update, f: &mut dyn FnMut(u64) -> Option<u64>) -> Option<Result<u64, u64>> {
    update_by(update, &mut |old| compute(f, old))
}

/// The same with a function of the library, of which it is known that it changes nothing.
#[inline(never)]
pub(crate) fn update_with(update: Update, f: fn(u64) -> Option<u64>) -> Option<Result<u64, u64>> {
    update_by(update, &mut |old| f(old))
}

fn update_by(update: Update, f: &mut dyn FnMut(u64) -> Option<u64>) -> Option<Result<u64, u64>> {
    let Update { addr, size, set, fetch, at } = update;
    let how = runtime::shared(|shared| shared.config.updates);
    if how == Updates::OneByOne || std::thread::panicking() {
        return None;
    }
    let speculation = if how == Updates::Always { Speculation::Always } else { Speculation::IfNext };
    let old = runtime::perform(Request::load().at(addr, size, fetch).speculating(speculation), at);
    let Some(new) = f(old) else {
        if how == Updates::Always {
            start_again(Updates::Sometimes);
        }
        return Some(Err(old));
    };
    runtime::perform(Request::cas(old, new, fetch).at(addr, size, set).confirming(), at);
    Some(Ok(old))
}

/// From the start, with other updates.
pub(crate) fn start_again(updates: Updates) -> ! {
    runtime::shared(|shared| shared.config.updates = updates);
    runtime::start_again();
}

/// Computes the new value, which must not change anything.
#[inline(never)]
fn compute(f: &mut dyn FnMut(u64) -> Option<u64>, old: u64) -> Option<u64> {
    let thread = runtime::must_be_inside();
    let base = runtime::shared(|shared| shared.places.base(thread));
    let marker = 0u64;
    // From here on upwards, nothing changes while `compare` runs unless `f` changes it.
    let low = std::ptr::from_ref(black_box(&marker)).addr();
    let (new, changed) = compare(black_box(f), old, low, base);
    if changed {
        start_again(Updates::OneByOne);
    }
    new
}

#[inline(never)]
fn compare(f: &mut dyn FnMut(u64) -> Option<u64>, old: u64, low: usize, base: usize) -> (Option<u64>, bool) {
    let before = look(low, base);
    let new = {
        let _updating = runtime::Updating::start();
        f(old)
    };
    let changed = look(low, base) != before;
    // Not before: where the result goes is part of what is compared.
    (black_box(new), changed)
}

/// What the stack looks like from an address on, and the memory of the model.
#[inline(never)]
fn look(low: usize, base: usize) -> (Vec<u64>, u64) {
    crate::blocks::quiet(|| {
        // SAFETY: these are words of the stack that this runs on, which reaches from there to `base`.
        let words = (low..base).step_by(8).map(|at| unsafe { (at as *const u64).read_volatile() });
        (words.collect(), runtime::shared(|shared| shared.memory()))
    })
}

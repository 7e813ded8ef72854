//! Looks that fail and lead to another look at the same word: locks that are tested before they are taken.
//!
//! ```text
//! while lock.swap(true, Acquire) {                        loop {
//!     while lock.load(Relaxed) {                              while lock.load(Relaxed) {
//!         hint::spin_loop();                                      hint::spin_loop();
//!     }                                                       }
//! }                                                           if !lock.swap(true, Acquire) { break }
//!                                                         }
//! ```
//!
//! The load is an await (`awaits.rs`). A `swap` that finds the lock taken leads to the load, and when that has found it free, to
//! the `swap` again, in the state that it was in before, or one that is as good (`returns.rs`). What was done in between is a
//! pure cycle (`spin.rs`): the `swap` could have waited as well. So it is a look that fails, and what comes of it is tried out as
//! there, but for this:
//!
//! - Whatever is in the word may be found by the load, not only what lets the `swap` fail. So all values that are there are
//!   told to it, and the thread must come back to one of the two looks, with memory as it was. Where it goes on, in an
//!   execution, looks count as tried out only if all values were that are there in the end.
//! - If the load waits with a value, the `swap` must fail with it. Otherwise the thread could be stuck at the load where it is not
//!   stuck at the `swap`.
//! - If something of this does not hold, the place is given up, and every `swap` that fails is explored.
//!
//! - An exchange that is weak may also fail for no reason, with values with which it goes on otherwise: it leads to the load then,
//!   too, and that is tried out with the others. Where a thread goes on, looks may have failed before with whatever can have been
//!   in the word by then (`owed.rs`), so these values must have been tried out.
//!
//! A word with pointers is left alone: what the load finds may lead to something that is not there yet.

use super::RustMachine;
use super::awaits::{Look, is_look};
use super::trial::{Asked, Place, found};
use crate::number::Number;
use crate::runtime::{self, At};
use crate::script::Step;
use crate::spin::is_quiet;
use crate::virtual_address::may_be_virtual;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Op, ThreadId};
use std::hash::Hash;

/// Whether a look that fails leads to another look at the same word.
pub(super) fn leads(from: &Op, to: &Op) -> bool {
    let (Op::Access(from), Op::Access(to)) = (from, to) else { return false };
    from.kind != AccessKind::Load
        && to.kind == AccessKind::Load
        && (from.addr, from.size) == (to.addr, to.size)
        && is_look(to)
}

/// What comes of a look that fails and leads elsewhere.
pub(super) fn where_to(before: &Place, now: &Place) -> Look {
    match (before.stands, now.stands) {
        (Some((from, _)), Some((op, at))) if now.came == before.came && leads(&from, &op) => Look::Relays(at),
        _ => Look::Elsewhere,
    }
}

impl Asked {
    /// Whether a thread stands at the other look at the word, with memory as it was.
    pub fn is_relayed(&self, now: &Place, before: &Place) -> bool {
        let (Some(relay), Some((from, _)), Some((op, at))) = (self.relay, before.stands, now.stands) else {
            return false;
        };
        *at == *relay && leads(&from, &op) && (now.came, now.trace.memory) == (before.came, before.trace.memory)
    }
}

impl RustMachine {
    /// Whether a thread stands at an operation that loops wait with.
    #[inline]
    pub(super) fn waits_at_next(&self, thread: ThreadId) -> bool {
        matches!(self.states[thread.index()].op, Op::Access(Access { spins: true, .. }))
    }

    /// Whether the last step, at a place, is a look that has failed and has led to another one at the word, at which threads wait, and
    /// this is news. Asked if its thread stands at an operation that loops wait with.
    pub(super) fn learns_relay(&mut self, thread: ThreadId, at: At) -> bool {
        let super::State { op, at: Some(to), .. } = &self.states[thread.index()] else { return false };
        let Some(Step { op: made, outcome, .. }) = self.steps[..self.made].last() else { return false };
        let looks = matches!(made, Op::Access(access) if is_look(access) && !access.spins);
        if !looks || !is_quiet(made, *outcome) || !leads(made, op) {
            return false;
        }
        runtime::shared(|shared| {
            let news = !shared.once && shared.retries.exchange(at).is_none() && shared.awaits.note_relay(at, to);
            if news {
                shared.retries.waits(at);
            }
            news
        })
    }

    /// Where looks lead to that fail where a thread stands.
    pub(super) fn relay_of(&self, thread: ThreadId) -> Option<At> {
        let at = self.states[thread.index()].at?;
        runtime::shared(|shared| shared.awaits.relay(at))
    }

    /// Whether a thread that stood at one look at a word stands at the other.
    pub(super) fn looks_elsewhere(&self, asked: &Asked, stood: Option<(Op, At)>) -> bool {
        let (Some(relay), Some((from, was_at)), Some((op, at))) = (asked.relay, stood, self.stands_at(asked.thread))
        else {
            return false;
        };
        let looked = self.states[asked.thread.index()].at;
        let goes = *at == *relay && leads(&from, &op);
        let returns = *was_at == *relay && Some(*at) == looked.copied() && leads(&op, &from);
        goes || returns
    }

    /// Whether a thread waits with an exchange that may fail for no reason.
    pub(super) fn waits_weakly(&self, thread: ThreadId) -> bool {
        self.states[thread.index()].at.is_some_and(|at| runtime::shared(|shared| shared.waits_weakly(at)))
    }

    /// What a look depends on if it leads to another one, or may fail for no reason: all that is in the word.
    pub(super) fn hash_relayed(&self, thread: ThreadId, hasher: &mut Number) {
        if (self.relay_of(thread).is_some() || self.waits_weakly(thread))
            && let Op::Access(Access { addr, .. }) = self.states[thread.index()].op
        {
            self.values_of(addr).hash(hasher);
        }
    }

    /// Finds out of all values that are in the word whether a look fails with them.
    pub(super) fn ask_about_all(
        &mut self,
        asked: &mut Asked,
        before: &Place,
        past: (u64, ThreadId),
    ) -> Result<(), Look> {
        let wrong = if asked.weak { Look::Chooses } else { Look::Elsewhere };
        let Some((op @ Op::Access(Access { addr, .. }), _)) = before.stands else { return Err(wrong) };
        let there = self.values_of(addr);
        if there.iter().chain([&asked.value]).any(|&value| may_be_virtual(value)) {
            return Err(wrong);
        }
        for value in there {
            if value == asked.value || self.returns.knows(past, value) {
                continue;
            }
            let fails = is_quiet(&op, value) && {
                if !self.back_in_place(asked) {
                    return Err(wrong);
                }
                self.tell_look(asked, found(value)).is_some()
            };
            self.returns.note(past, value, fails)?;
        }
        if self.back_in_place(asked) { Ok(()) } else { Err(wrong) }
    }
}

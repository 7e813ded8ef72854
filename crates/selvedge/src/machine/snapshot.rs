//! A thread that is told something to see what it does, and is then put back to where it was.
//!
//! A closure cannot be run backwards, but what a suspended thread is can be copied: its stack, registers included, and the
//! memory that it can write to. Put back to where it was copied from, it is the thread as it was before, pointers and all.
//! That costs a hundredth of running everything again up to there.
//!
//! A thread that runs from one operation to the next can change
//!
//! - its own stack, and those of others, to which it may have references;
//! - the blocks that the model has allocated, and copies of what is in statics: they are copied;
//! - which blocks there are. What it frees is not given back during a run anyway (`blocks.rs`), so it is still there. What
//!   it has allocated and freed is given back when the run is over. What it has only allocated is leaked: it may belong to
//!   something outside of the model;
//! - what objects are known by (`places.rs`);
//! - what the library keeps for it: counts are put back. For all else there is a number: if that has changed, the thread
//!   cannot be put back, and everything is run again (from then on the run is *stale*).
//!
//! If it has changed something outside of the model that others count on, it is not put back either (`outside.rs`).
//!
//! Nothing else may matter: what a thread does must not depend on `std`'s statics and thread-local variables.

use super::RustMachine;
use super::outside::{Now, Outside, Own};
use crate::coroutine::{Came, SavedStrand};
use crate::number::Number;
use crate::runtime::{self, At, Yielded};
use crate::shared::SavedShared;
use selvedge_ir::EntityRef;
use selvedge_machine::{Op, Outcome, ThreadId};
use std::hash::{Hash, Hasher};

/// Models with more bytes of memory are run again instead.
const MOST: usize = 1 << 16;

/// A run at some point, as far as a thread can change it before its next operation.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Which thread, and how many steps had been made; none if there is no snapshot.
    of: Option<(ThreadId, usize)>,
    strand: SavedStrand,
    /// The stacks of all other threads that are suspended.
    others: Vec<(usize, Vec<u64>)>,
    shared: SavedShared,
    outside: Outside,
}

impl Snapshot {
    /// Whether it is one of a thread after so many steps.
    pub fn is_of(&self, thread: ThreadId, made: usize) -> bool {
        self.of == Some((thread, made))
    }

    /// There is none any more.
    pub fn forget(&mut self) {
        self.of = None;
    }
}

/// A thread is not let come by more operations.
pub(super) const MOST_BY: usize = 8;

impl RustMachine {
    /// Keeps a thread that stands at an operation; whether that is possible. It can be put back after it was put back to what
    /// it was `before`.
    pub(super) fn save_thread(&mut self, thread: ThreadId, snapshot: &mut Snapshot, before: Option<&Snapshot>) -> bool {
        snapshot.of = None;
        let slot = self.slots.get(thread.index()).and_then(Option::as_ref);
        let Some(slot) = slot.filter(|slot| slot.strand.pending().is_some()) else { return false };
        if runtime::shared(|shared| shared.blocks.size() > MOST) {
            return false;
        }
        slot.strand.save(&self.pool, &mut snapshot.strand);
        let others = self.slots.iter().enumerate().filter(|(n, _)| *n != thread.index());
        let mut count = 0;
        for (n, stack) in others.filter_map(|(n, slot)| slot.as_ref().map(|slot| (n, slot.strand.at_rest()))) {
            if snapshot.others.len() == count {
                snapshot.others.push((0, Vec::new()));
            }
            let (of, words) = &mut snapshot.others[count];
            *of = n;
            words.clear();
            words.extend_from_slice(stack);
            count += 1;
        }
        snapshot.others.truncate(count);
        let coroutines = self.slots.as_ptr_range();
        let own = Own {
            closure: &self.body,
            stack: slot.strand.stack().0..slot.strand.stack().1,
            engine: self.pool.engine(runtime::shared(|shared| shared.top)),
            pool: &self.pool,
            coroutines: coroutines.start.addr()..coroutines.end.addr(),
            beat: self.pool.beat(),
        };
        runtime::shared(|shared| {
            shared.save(thread, &mut snapshot.shared, before.map(|before| &before.shared));
            // What is on the stacks of others is put back, too.
            let others = snapshot.others.iter().map(|(_, words)| words.as_slice());
            snapshot.outside.keep(shared, others.chain([slot.strand.at_rest()]), own);
        });
        snapshot.of = Some((thread, self.made));
        true
    }

    /// Puts a thread back; whether that is possible.
    pub(super) fn put_thread_back(&mut self, snapshot: &Snapshot) -> bool {
        let Some((thread, _)) = snapshot.of else { return false };
        self.surroundings.forget();
        let may_be = match snapshot.outside.now(&self.body) {
            Now::Same => true,
            Now::Changed => !self.has_touched(snapshot),
            Now::Less => false,
        };
        if !may_be || !runtime::shared(|shared| shared.put_back(thread, &snapshot.shared)) {
            // What has been met since is not that of an execution.
            self.compared.real = false;
            return false;
        }
        for (n, words) in &snapshot.others {
            let strand = self.slots[*n].as_mut().map(|slot| &mut slot.strand);
            if let Some(strand) = strand.filter(|strand| strand.at_rest() != words.as_slice()) {
                strand.put_words_back(words);
            }
        }
        self.slots[thread.index()].as_mut().is_some_and(|slot| slot.strand.put_back(&snapshot.strand))
    }

    /// Whether a thread has changed memory since a snapshot that somebody outside of the model may have got to know of.
    pub(super) fn has_touched(&self, snapshot: &Snapshot) -> bool {
        runtime::shared(|shared| shared.has_touched(&snapshot.shared))
    }

    /// Numbers for what a thread has changed since a snapshot: on stacks, and elsewhere.
    pub(super) fn differences(&self, snapshot: &Snapshot) -> (u64, u64) {
        (self.stack_differences(snapshot), self.memory_differences(snapshot))
    }

    /// A number for what a thread has changed on stacks since a snapshot.
    pub(super) fn stack_differences(&self, snapshot: &Snapshot) -> u64 {
        let mut hasher = Number::default();
        let thread = snapshot.of.map_or(0, |(thread, _)| thread.index());
        let engine = self.pool.engine(runtime::shared(|shared| shared.top));
        let strand = self.slots.get(thread).and_then(Option::as_ref).map(|slot| &slot.strand);
        if let Some(strand) = strand.filter(|strand| strand.pending().is_some()) {
            hasher.write_usize(strand.low());
            strand.differences(&snapshot.strand, &engine, |depth, word| (depth, word).hash(&mut hasher));
        }
        for (n, words) in &snapshot.others {
            let now = self.slots[*n].as_ref().map_or(&[][..], |slot| slot.strand.at_rest());
            if now != words.as_slice() {
                (n, now).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// A number for what a thread has changed since a snapshot that is not on stacks.
    pub(super) fn memory_differences(&self, snapshot: &Snapshot) -> u64 {
        let thread = snapshot.of.map_or(ThreadId::new(0), |(thread, _)| thread);
        runtime::shared(|shared| shared.differences(&snapshot.shared, thread))
    }

    /// The operation that a thread comes to first if it is told an outcome, if it comes to one. None if that cannot be seen
    /// in this way.
    pub(super) fn comes_to_if(&mut self, thread: ThreadId, outcome: Outcome) -> Option<Option<(Op, At)>> {
        self.comes_by_if(thread, outcome, |_| false)
    }

    /// The same, but of what it comes to after some operations whose outcome says nothing.
    pub(super) fn comes_by_if(
        &mut self,
        thread: ThreadId,
        outcome: Outcome,
        comes_by: impl Fn(&Op) -> bool,
    ) -> Option<Option<(Op, At)>> {
        if self.stale && self.run_again().is_err() {
            return None;
        }
        let mut snapshot = std::mem::take(&mut self.tries.here);
        let found = self
            .save_thread(thread, &mut snapshot, None)
            .then(|| self.come_by(thread, outcome, &snapshot, comes_by))
            .flatten();
        self.tries.here = snapshot;
        found
    }

    /// The same for a thread of which there is a snapshot.
    pub(super) fn come_to(
        &mut self,
        thread: ThreadId,
        outcome: Outcome,
        snapshot: &Snapshot,
    ) -> Option<Option<(Op, At)>> {
        self.come_by(thread, outcome, snapshot, |_| false)
    }

    fn come_by(
        &mut self,
        thread: ThreadId,
        outcome: Outcome,
        snapshot: &Snapshot,
        comes_by: impl Fn(&Op) -> bool,
    ) -> Option<Option<(Op, At)>> {
        self.starts_trial();
        let slot = self.slots[thread.index()].as_mut()?;
        runtime::repeats(false);
        let (mut outcome, mut left) = (outcome, MOST_BY);
        let found = loop {
            let came = self.pool.resume(&mut slot.strand, outcome);
            cannot_be_put_back(&came);
            let found = match came {
                Came::Op if !runtime::take_aside() => slot.strand.pending().map(|pending| Some(pending.op_and_place())),
                Came::End => Some(None),
                _ => None,
            };
            if left == 0 || !matches!(&found, Some(Some((op, _))) if comes_by(op)) {
                break found;
            }
            (outcome, left) = (0, left - 1);
        };
        self.ends_trial();
        #[cfg(test)]
        runtime::shared(|shared| shared.restart |= crate::interrupted::is_now());
        self.stale = !self.put_thread_back(snapshot);
        found.filter(|_| !self.stale && !runtime::shared(|shared| shared.restart))
    }

    /// Threads that run from now on are put back.
    pub(super) fn starts_trial(&mut self) {
        self.pool.keeps = true;
        self.ahead = None;
        runtime::shared(|shared| {
            shared.tries_out = true;
            shared.blocks.tries_out = true;
            shared.announced.clear();
        });
    }

    /// The last of them has come to its end.
    pub(super) fn ends_trial(&mut self) {
        self.pool.keeps = false;
        runtime::take_panic();
        runtime::take_aside();
        runtime::take_updating();
        runtime::shared(|shared| {
            shared.tries_out = false;
            shared.blocks.tries_out = false;
        });
    }
}

/// If a thread has been stopped, it has handed over what says why: that is not its own any more. And if it was left in the
/// middle of a panic, no model can be run on this thread of the operating system any more: that was no execution, so
/// everything is done once more on another one (`pass.rs`).
pub(super) fn cannot_be_put_back(came: &Came) {
    if runtime::is_spoiled() {
        runtime::shared(|shared| shared.restart = true);
    }
    if let Came::To(Yielded::Stop(_)) = came {
        runtime::shared(|shared| shared.blocks.freed_other = true);
    }
}

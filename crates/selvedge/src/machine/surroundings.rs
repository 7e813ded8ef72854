//! All memory that a thread could change, but for its own stack, before it runs and after: what the model has allocated, copies
//! of what is in statics, and the stacks of the other threads. (A thread of a scope may count in a variable of the one that
//! has created it.)
//!
//! It is copied and compared, which takes an eighth of what it takes to compute numbers for it, and cannot be mistaken.

use super::Slot;
use crate::blocks::ChangedBlock;
use crate::restored::Changes;
use crate::runtime;
use crate::shared::Shared;
use selvedge_machine::ThreadId;

/// What was there before a thread ran.
#[derive(Default)]
pub(super) struct Surroundings {
    /// How many blocks had been allocated and freed, and what was in those that lived.
    count: (usize, usize),
    blocks: Vec<u8>,
    /// The stacks of the others, one after the other, and where each ends.
    stacks: Vec<u64>,
    ends: Vec<usize>,
    /// Copies of what is in statics, by where they are.
    copies: Vec<(usize, Vec<u8>)>,
    /// The thread whose surroundings these are, and the turn after which they were seen to be there.
    seen: Option<(ThreadId, u64)>,
}

impl Surroundings {
    /// Something that is no thread has changed what is there.
    pub fn forget(&mut self) {
        self.seen = None;
    }

    /// The thread is known to leave them as they are, since it has done so in another run. Where references are counted is noted
    /// from now on as it was there.
    pub fn are_left_alone() {
        runtime::shared_untidily(|shared| shared.counts.on = true);
    }

    /// Keeps what is there now, around a thread. If nobody has run since it was last seen to be there, it is.
    pub fn keep(&mut self, thread: ThreadId, others: [&[Option<Slot>]; 2]) {
        if self.seen.take() == Some((thread, runtime::turns())) {
            return;
        }
        self.blocks.clear();
        self.stacks.clear();
        self.ends.clear();
        runtime::shared(|shared| {
            self.count = shared.blocks.copy_to(&mut self.blocks);
            shared.copies.save(&mut self.copies);
            shared.counts.on = true;
        });
        for stack in at_rest(others) {
            self.stacks.extend_from_slice(stack);
            self.ends.push(self.stacks.len());
        }
    }

    /// Whether all is as it was around a thread.
    pub fn are_there(&mut self, thread: ThreadId, others: [&[Option<Slot>]; 2]) -> bool {
        let there = self.are_as_kept(others);
        self.seen = there.then(|| (thread, runtime::turns()));
        there
    }

    fn are_as_kept(&self, others: [&[Option<Slot>]; 2]) -> bool {
        let mut start = 0;
        let mut ends = self.ends.iter();
        let same_stacks = at_rest(others).all(|stack| {
            let Some(&end) = ends.next() else { return false };
            stack == &self.stacks[std::mem::replace(&mut start, end)..end]
        });
        let same = |shared: &mut Shared| {
            shared.copies.are_as_saved(&self.copies)
                && shared.blocks.are_as_copied(&self.blocks, self.count, |changed| shared.was_met(changed))
        };
        same_stacks && ends.next().is_none() && runtime::shared(same)
    }

    /// The blocks that are not as they were, with what was in them if they were there; and what else has been changed. None if
    /// there are other stacks, or other copies.
    pub fn changed(&self, others: [&[Option<Slot>]; 2], changes: &mut Changes) -> Option<Vec<ChangedBlock<'_>>> {
        let mut start = 0;
        let mut ends = self.ends.iter();
        for stack in at_rest(others) {
            let end = *ends.next()?;
            let before = &self.stacks[std::mem::replace(&mut start, end)..end];
            if before.len() != stack.len() {
                return None;
            }
            for (now, before) in stack.iter().zip(before).filter(|(now, before)| now != before) {
                let at = std::ptr::from_ref(now).addr();
                changes.add(at, &before.to_ne_bytes(), &now.to_ne_bytes(), |_| false);
            }
        }
        runtime::shared(|shared| {
            shared.copies.changed(&self.copies, changes)?;
            shared.blocks.changed_since(&self.blocks, self.count)
        })
    }

    /// How many bytes the largest of these stacks has.
    pub fn deepest(&self) -> usize {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| size_of::<u64>() * (end - start)).max().unwrap_or(0)
    }

    /// The stacks of the others.
    pub fn stacks(&self) -> &[u64] {
        &self.stacks
    }
}

/// The stacks of suspended threads.
fn at_rest(threads: [&[Option<Slot>]; 2]) -> impl Iterator<Item = &[u64]> {
    threads.into_iter().flatten().flatten().map(|slot| slot.strand.at_rest())
}

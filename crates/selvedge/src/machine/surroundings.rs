//! All memory that a thread could change, but for its own stack, before it runs and after: what the model has allocated, copies
//! of what is in statics, and the stacks of the other threads. (A thread of a scope may count in a variable of the one that
//! has created it.)
//!
//! It is copied and compared, which takes an eighth of what it takes to compute numbers for it, and cannot be mistaken.

use super::Slot;
use crate::runtime;

/// What was there before a thread ran.
#[derive(Default)]
pub(super) struct Surroundings {
    /// How many blocks had been allocated and freed, and what was in those that lived.
    count: (usize, usize),
    blocks: Vec<u8>,
    /// The stacks of the others, one after the other, and where each ends.
    stacks: Vec<u64>,
    ends: Vec<usize>,
    /// A number for copies of what is in statics.
    copies: u64,
}

impl Surroundings {
    /// Keeps what is there now.
    pub fn keep(&mut self, others: [&[Option<Slot>]; 2]) {
        self.blocks.clear();
        self.stacks.clear();
        self.ends.clear();
        runtime::shared(|shared| {
            self.count = shared.blocks.copy_to(&mut self.blocks);
            self.copies = shared.copies.fingerprint(Some);
        });
        for stack in at_rest(others) {
            self.stacks.extend_from_slice(stack);
            self.ends.push(self.stacks.len());
        }
    }

    /// Whether all is as it was.
    pub fn are_there(&self, others: [&[Option<Slot>]; 2]) -> bool {
        self.all_but_blocks_are_there(others)
            && runtime::shared(|shared| shared.blocks.are_as_copied(&self.blocks, self.count))
    }

    /// The blocks that are not as they were, if all else is.
    pub fn changed_blocks(&self, others: [&[Option<Slot>]; 2]) -> Option<Vec<usize>> {
        let blocks = || runtime::shared(|shared| shared.blocks.changed_since(&self.blocks, self.count));
        if self.all_but_blocks_are_there(others) { blocks() } else { None }
    }

    /// Whether a block was allocated since.
    pub fn is_new(&self, n: usize) -> bool {
        n >= self.count.0
    }

    /// The stacks of the others.
    pub fn stacks(&self) -> &[u64] {
        &self.stacks
    }

    fn all_but_blocks_are_there(&self, others: [&[Option<Slot>]; 2]) -> bool {
        let mut start = 0;
        let mut ends = self.ends.iter();
        let same_stacks = at_rest(others).all(|stack| {
            let Some(&end) = ends.next() else { return false };
            stack == &self.stacks[std::mem::replace(&mut start, end)..end]
        });
        same_stacks && ends.next().is_none() && runtime::shared(|shared| shared.copies.fingerprint(Some)) == self.copies
    }
}

/// The stacks of suspended threads.
fn at_rest(threads: [&[Option<Slot>]; 2]) -> impl Iterator<Item = &[u64]> {
    threads.into_iter().flatten().flatten().map(|slot| slot.strand.at_rest())
}

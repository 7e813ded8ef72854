//! Blocks that are freed by counts of references that the model does not know.
//!
//! Who is the last to drop a `std::sync::Arc`, or a `Weak` of it, frees a block that others have used; that they have done so before
//! that is known to `std`'s counts only. (The `Arc` of this library is one of `std`'s too, and its references are not counted by the
//! model if nobody could notice.) So such blocks are freed without telling the engine, and so are others that a value owns which
//! is dropped in this way.
//!
//! No function says what a block is, so it is looked at. The block of an `Arc` or `Rc` begins with two counts. Both are small and not
//! zero when what is in it is used; both are zero when it is freed; and while the value is dropped, the first is zero and the other is
//! not. Many a block begins with a zero and a small number, such as a node of a `BTreeMap` whose first key is 1. So it counts only if both
//! numbers were there before: every block is looked at when an operation comes after its allocation, and again as long as the
//! first number is zero and the other is not, as it is while `new_cyclic` makes a value. What then is mistaken is two numbers of the
//! model's own that were both small and not zero, and one or both of which are zero later: a use after free may be missed there.

// Blocks are looked into.
#![allow(unsafe_code)]

use super::{Block, Blocks};
use crate::runtime;

/// Counts are not larger.
const LARGEST: u64 = u32::MAX as u64;
/// So many bytes are counts.
const COUNTS: usize = 16;
/// Blocks are looked through for pointers as far as this.
const MOST: usize = 4096;

/// The first two words of a block, if it may be one that begins with counts.
fn counts(block: &Block) -> Option<(u64, u64)> {
    if block.id.size <= COUNTS || !block.id.align.is_multiple_of(8) {
        return None;
    }
    let at = std::ptr::with_exposed_provenance::<u64>(block.at);
    // SAFETY: the block is that large and aligned, and is there until the run is over. Nobody else runs.
    Some(unsafe { (at.read_volatile(), at.add(1).read_volatile()) })
}

/// Whether a value whose references are counted is there.
fn is_there((strong, weak): (u64, u64)) -> bool {
    (1..=LARGEST).contains(&strong) && (1..=LARGEST).contains(&weak)
}

/// Whether such a value is being dropped, or was.
fn is_dropped((strong, weak): (u64, u64)) -> bool {
    strong == 0 && (1..=LARGEST).contains(&weak)
}

impl Blocks {
    /// The newest block may begin with counts: that is looked at before the next operation.
    #[inline]
    pub(super) fn note_fresh(&mut self) {
        let may_be = self.blocks.last().is_some_and(|block| block.id.size > COUNTS && block.id.align.is_multiple_of(8));
        if may_be {
            self.fresh.push(self.blocks.len() - 1);
            runtime::has_to_look();
        }
    }

    /// Whether there are blocks of which it is not known whether they begin with counts.
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// An operation comes: looks at blocks that were allocated since.
    pub fn look_at_fresh(&mut self) {
        let blocks = &mut self.blocks;
        self.fresh.retain(|&n| {
            let block = &mut blocks[n];
            let found = counts(block).filter(|_| !block.freed);
            block.referenced |= found.is_some_and(is_there);
            found.is_some_and(is_dropped)
        });
    }

    /// The block that a byte is in.
    pub fn within(&self, at: usize) -> Option<&Block> {
        self.find(at).filter(|block| at - block.at < block.id.size)
    }

    /// An object of the model is seen somewhere.
    pub fn holds_object(&mut self, place: usize) {
        let Some(n) = self.position(place) else { return };
        let block = &mut self.blocks[n];
        let offset = place - block.at;
        if offset < block.id.size {
            block.holds = true;
            block.counted |= offset >= COUNTS && counts(block).is_some_and(is_there);
        }
    }

    /// The value at an address is about to be dropped, and its references are counted in the model.
    pub fn counts_in_model(&mut self, value: usize) {
        if let Some(at) = self.find(value).map(|block| block.at) {
            self.modelled.push(at);
        }
    }

    /// Whether a block that has just been freed was so since some count has come to zero that the model does not know.
    pub fn is_freed_by_count(&self, block: &Block) -> bool {
        if block.counted && counts(block) == Some((0, 0)) {
            return true;
        }
        self.dropped().any(|other| other.counted || self.may_own(other, block))
    }

    /// Whether a value is being dropped whose references the model does not count.
    pub fn somebody_drops(&self) -> bool {
        self.dropped().next().is_some()
    }

    /// The blocks of such values.
    fn dropped(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| {
            let is_one = !block.freed && block.referenced && counts(block).is_some_and(is_dropped);
            is_one && !self.modelled.contains(&block.at)
        })
    }

    /// Whether pointers lead from one block to another, or may do so: what atomics point to is known to the engine, and not to be
    /// found in memory.
    fn may_own(&self, from: &Block, to: &Block) -> bool {
        let mut known = vec![from.at];
        let mut next = 0;
        while let Some(block) = known.get(next).and_then(|&at| self.within(at)) {
            next += 1;
            if block.holds {
                return true;
            }
            let (words, _) = Blocks::bytes(block).as_chunks::<8>();
            for word in words.iter().take(MOST / 8) {
                let word = usize::from_ne_bytes(*word);
                if word.wrapping_sub(to.at) < to.id.size {
                    return true;
                }
                if let Some(other) = self.within(word).filter(|other| !other.freed && !known.contains(&other.at)) {
                    known.push(other.at);
                }
            }
        }
        false
    }
}

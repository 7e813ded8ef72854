//! Memory that a model's threads allocate: which block is which, in every execution.
//!
//! Addresses are not the same in every run of a model: they are up to the system's allocator. What is the same is which
//! block it is: the n-th of its layout that its thread has allocated. So allocations that are made while a thread
//! of a model runs are noted. Objects of the model that lie in a block are known by it and their offset, whoever comes to
//! them first (`places.rs`); and pointers that threads pass to each other become *virtual* addresses for the engine, which are
//! the same in every run (`virtual_address.rs`).
//!
//! What a model's thread frees is kept until the run is over, so that no address is used twice in a run: a pointer that is left
//! over never meets a new object. Then it is there for the next run, which allocates the same (`blocks/kinds.rs`).

// Blocks are looked into, and given back to the allocator.
#![allow(unsafe_code)]

use crate::number::Number;
use crate::runtime;
use kinds::Kinds;
use rustc_hash::FxHashSet;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

mod counted;
mod kinds;
mod tracking;

pub use tracking::Tracking;
pub(crate) use tracking::{Installed, is_at_work, is_installed, loud, quiet};

/// What becomes of a block that is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Freed {
    /// It is given back when the run is over.
    Kept,
    /// The same, and objects of the model were seen in it.
    Holding,
    /// It is none of the model's.
    Other,
    /// It was freed before, in the same run: no address is used twice in a run.
    Twice,
}

/// Which block it is, in every run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct BlockId {
    /// Who has allocated it.
    pub thread: ThreadId,
    pub size: usize,
    pub align: usize,
    /// How many of this layout the thread had allocated before.
    nth: u32,
}

impl BlockId {
    /// Who has allocated it, and how many of its layout before.
    pub fn owner(&self) -> (ThreadId, u32) {
        (self.thread, self.nth)
    }
}

/// A block in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub id: BlockId,
    /// Its first byte in this run.
    pub at: usize,
    /// The engine's time when it was allocated.
    pub made: u32,
    /// Whether it was freed.
    pub freed: bool,
    /// Whether objects of the model were seen in it.
    pub holds: bool,
    /// Whether it then began with counts of references, as far as can be seen.
    pub counted: bool,
    /// Whether it did so at some operation.
    referenced: bool,
}

impl Block {
    /// What puts addresses in blocks into an order that is the same in every run.
    pub fn order_of(&self, at: usize) -> (usize, usize, usize, u32, usize) {
        let BlockId { thread, size, align, nth } = self.id;
        (thread.index(), size, align, nth, at - self.at)
    }
}

/// The blocks of a run.
#[derive(Default)]
pub(crate) struct Blocks {
    /// In the order in which they were allocated.
    blocks: Vec<Block>,
    /// By their addresses, if there are more than a few.
    index: BTreeMap<usize, usize>,
    /// Which of them were allocated last.
    last: Last,
    /// How many blocks of each layout a thread has allocated, by the numbers of layouts.
    counts: Vec<Vec<u32>>,
    kinds: Kinds,
    /// What was freed in this run, and from where to where that is.
    kept: Vec<(usize, Layout)>,
    freed: Range<usize>,
    /// The engine's time.
    pub now: u32,
    /// How many bytes runs have not freed.
    pub leaked: usize,
    /// Blocks that were freed in some run while other threads could run, if that is noted.
    pub freed_early: Option<FxHashSet<BlockId>>,
    /// Whether a thread is tried out that will be put back: what it frees lives again then.
    pub tries_out: bool,
    /// Whether it has freed something that is none of these blocks.
    pub freed_other: bool,
    /// Blocks that contain values whose references are counted in the model, and which are dropped, or were.
    modelled: Vec<usize>,
    /// The numbers of blocks of which it is not known yet whether they begin with counts of references.
    fresh: Vec<usize>,
    /// What threads have allocated that were put back since, and whether they had freed it.
    scrap: Vec<(usize, Layout, bool)>,
}

/// Numbers of blocks by parts of their addresses.
struct Last([u32; LAST]);

impl Default for Last {
    fn default() -> Last {
        Last([0; LAST])
    }
}

/// The blocks of a run at some point, with what was in them.
#[derive(Default)]
pub(crate) struct SavedBlocks {
    blocks: Vec<Block>,
    counts: Vec<Vec<u32>>,
    kept: Vec<(usize, Layout)>,
    now: u32,
    /// What was in those that were not freed, in order.
    contents: Vec<u8>,
}

/// A block that has changed, by number, and what was in it, if it was there.
pub(crate) type ChangedBlock<'a> = (usize, Option<&'a [u8]>);

/// Up to eight bytes as one word.
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Whether bytes are the same. Most blocks are a few words: to call a function for these takes longer than to compare them.
#[inline]
fn are_same(one: &[u8], other: &[u8]) -> bool {
    let ((words, rest), (others, _)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    if one.len() != other.len() || !rest.is_empty() || words.len() > 16 {
        return one == other;
    }
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    words.iter().zip(others).fold(0, |differs, (one, other)| differs | (word(one) ^ word(other))) == 0
}

/// The words of a block that are not what they were: where they are, what they were, and what they are.
pub(crate) fn changed_words<'a>(
    block: &'a Block,
    before: &'a [u8],
) -> impl Iterator<Item = (usize, &'a [u8], &'a [u8])> {
    let words = before.chunks(8).zip(Blocks::bytes(block).chunks(8)).enumerate();
    words.filter(|(_, (before, now))| before != now).map(|(n, (before, now))| (block.at + 8 * n, before, now))
}

/// So many are looked at one by one.
const FEW: usize = 48;
/// So many are found by their addresses at once.
const LAST: usize = 64;

impl Blocks {
    /// Notes a block whose layout has this number.
    #[inline]
    fn note(&mut self, at: usize, layout: Layout, kind: usize) {
        let thread = runtime::running();
        let nth = self.next(thread, kind);
        let id = BlockId { thread, size: layout.size(), align: layout.align(), nth };
        self.last.0[at / 16 % LAST] = self.blocks.len() as u32;
        self.blocks.push(Block {
            id,
            at,
            made: self.now,
            freed: false,
            holds: false,
            counted: false,
            referenced: false,
        });
        self.note_fresh();
        if self.blocks.len() > FEW {
            self.note_in_index();
        }
    }

    #[cold]
    fn note_in_index(&mut self) {
        let from = self.index.len();
        self.index.extend(self.blocks.iter().enumerate().skip(from).map(|(n, block)| (block.at, n)));
    }

    /// How many blocks of a layout a thread has allocated before the next one.
    #[inline]
    fn next(&mut self, thread: ThreadId, kind: usize) -> u32 {
        if self.counts.len() <= thread.index() {
            self.counts.resize_with(thread.index() + 1, Vec::new);
        }
        let counts = &mut self.counts[thread.index()];
        if counts.len() <= kind {
            counts.resize(kind + 1, 0);
        }
        counts[kind] += 1;
        counts[kind] - 1
    }

    /// The number of the block that starts at an address, if it is one of those that are found at once.
    #[inline]
    fn starts_at(&self, at: usize) -> Option<usize> {
        let n = self.last.0[at / 16 % LAST] as usize;
        self.blocks.get(n).is_some_and(|block| block.at == at).then_some(n)
    }

    fn free(&mut self, at: usize, layout: Layout) -> Freed {
        let found = self.position(at).filter(|&n| self.blocks[n].at == at && !self.blocks[n].freed);
        if let Some(n) = found {
            self.blocks[n].freed = true;
            if let Some(early) = &mut self.freed_early
                && !runtime::alone()
            {
                early.insert(self.blocks[n].id);
            }
            self.keep(at, layout);
            return if self.blocks[n].holds { Freed::Holding } else { Freed::Kept };
        }
        if self.kept.iter().any(|&(kept, _)| kept == at) {
            return Freed::Twice;
        }
        if self.tries_out {
            // It is freed with the rest if all is run again, which has to be done now.
            self.freed_other = true;
            self.keep(at, layout);
            return Freed::Kept;
        }
        Freed::Other
    }

    /// Keeps a block that was freed until the run is over.
    fn keep(&mut self, at: usize, layout: Layout) {
        self.kept.push((at, layout));
        let Range { start, end } = self.freed;
        self.freed = if start == end { at } else { start.min(at) }..end.max(at + layout.size() + 1);
    }

    /// A block that was freed can be used again, since a run has ended.
    fn give_back(&mut self, at: usize, layout: Layout) {
        if !self.kinds.give(layout, at) {
            // SAFETY: a model's thread has freed this block with this layout, and nobody else has.
            unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(at), layout) };
        }
    }

    /// Gives blocks back to the allocator that are kept for later runs.
    fn give_up_spare(&mut self) {
        // SAFETY: as in `give_back`.
        let free = |at, layout| unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(at), layout) };
        self.kinds.clear(free);
    }

    /// How many bytes are in blocks that live.
    pub fn size(&self) -> usize {
        self.blocks.iter().filter(|block| !block.freed).map(|block| block.id.size).sum()
    }

    /// The bytes of a block.
    fn bytes(block: &Block) -> &[u8] {
        // SAFETY: the block lives, and no reference to it is in use: nobody runs.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(block.at), block.id.size) }
    }

    /// Keeps all as it is.
    pub fn save(&self, saved: &mut SavedBlocks) {
        saved.blocks.clone_from(&self.blocks);
        saved.counts.clone_from(&self.counts);
        saved.kept.clone_from(&self.kept);
        saved.now = self.now;
        saved.contents.clear();
        for block in self.blocks.iter().filter(|block| !block.freed) {
            saved.contents.extend_from_slice(Blocks::bytes(block));
        }
    }

    /// Puts all back. What was allocated since is given up, unless it is put back later.
    pub fn put_back(&mut self, saved: &SavedBlocks) {
        let common = self.blocks.iter().zip(&saved.blocks).take_while(|(now, old)| now.at == old.at).count();
        for block in &self.blocks[common..] {
            if self.index.get(&block.at).is_some_and(|&n| n >= common) {
                self.index.remove(&block.at);
            }
            if let Ok(layout) = Layout::from_size_align(block.id.size, block.id.align) {
                self.scrap.push((block.at, layout, block.freed));
            }
        }
        self.blocks.clone_from(&saved.blocks);
        self.fresh.retain(|&n| n < common);
        self.scrap.retain(|&(at, ..)| !saved.blocks[common..].iter().any(|block| block.at == at));
        if self.blocks.len() > FEW {
            self.note_in_index();
        }
        self.counts.clone_from(&saved.counts);
        self.kept.clone_from(&saved.kept);
        self.now = saved.now;
        let mut rest = saved.contents.as_slice();
        for block in self.blocks.iter().filter(|block| !block.freed) {
            let (content, others) = rest.split_at(block.id.size);
            rest = others;
            // SAFETY: the block lives, or has been freed by a thread that is put back too; then it was kept. No reference to
            // it is in use.
            unsafe {
                let at = std::ptr::with_exposed_provenance_mut::<u8>(block.at);
                std::ptr::copy_nonoverlapping(content.as_ptr(), at, content.len());
            }
        }
    }

    /// Whether something was allocated since, or was written to blocks that still live, but for words that may be: it is asked
    /// with their addresses, and with what they were and are.
    pub fn have_changed(&self, saved: &SavedBlocks, may_be: impl Fn(usize, u64, u64) -> bool) -> bool {
        let same = |(now, old): (&Block, &Block)| now.at == old.at && now.freed >= old.freed;
        if self.blocks.len() != saved.blocks.len() || !self.blocks.iter().zip(&saved.blocks).all(same) {
            return true;
        }
        let mut rest = saved.contents.as_slice();
        self.blocks.iter().zip(&saved.blocks).filter(|(_, old)| !old.freed).any(|(block, _)| {
            let (content, others) = rest.split_at(block.id.size);
            rest = others;
            if block.freed || Blocks::bytes(block) == content {
                return false;
            }
            changed_words(block, content).any(|(at, old, now)| !may_be(at, word_of(old), word_of(now)))
        })
    }

    /// Adds to a hash what has changed since.
    pub fn differences(&self, saved: &SavedBlocks, hasher: &mut Number) {
        let mut rest = saved.contents.as_slice();
        hasher.write_usize(self.blocks.len());
        for (n, block) in self.blocks.iter().enumerate() {
            let old = saved.blocks.get(n);
            let (content, others) = rest.split_at(old.filter(|old| !old.freed).map_or(0, |old| old.id.size));
            rest = others;
            // No address is used twice in a run.
            let is_other = |old: &Block| old.at != block.at && old.id != block.id;
            if old.is_none_or(|old| is_other(old) || old.freed != block.freed) {
                (n, block.id, block.freed).hash(hasher);
            }
            if !block.freed && Blocks::bytes(block) != content {
                (n, Blocks::bytes(block)).hash(hasher);
            }
        }
    }

    /// The number of the block that an address points into, or to the end of.
    pub fn position(&self, at: usize) -> Option<usize> {
        if let Some(n) = self.starts_at(at) {
            return Some(n);
        }
        let within = |n: usize| at.wrapping_sub(self.blocks[n].at) <= self.blocks[n].id.size;
        if self.blocks.len() > FEW {
            return self.index.range(..=at).next_back().map(|(_, &n)| n).filter(|&n| within(n));
        }
        // The newest first. If one ends where the next one starts, it is the latter.
        let mut found = None;
        for n in (0..self.blocks.len()).rev().filter(|&n| within(n)) {
            if at - self.blocks[n].at < self.blocks[n].id.size {
                return Some(n);
            }
            found = found.or(Some(n));
        }
        found
    }

    /// The block that an address points into, or to the end of.
    #[inline]
    pub fn find(&self, at: usize) -> Option<&Block> {
        self.position(at).map(|n| &self.blocks[n])
    }

    /// The n-th block of this run, and its bytes, if it lives.
    pub fn nth(&self, n: usize) -> (&Block, &[u8]) {
        let block = &self.blocks[n];
        (block, if block.freed { &[] } else { Blocks::bytes(block) })
    }

    /// From the first byte of the lowest block to the end of the highest, to which something may point.
    pub fn bounds(&self) -> Range<usize> {
        let start = self.blocks.iter().map(|block| block.at).min().unwrap_or(0);
        let end = self.blocks.iter().map(|block| block.at + block.id.size + 1).max().unwrap_or(0);
        start..end
    }

    /// Copies what is in the blocks that live. How many were allocated and freed tells which ones these are.
    pub fn copy_to(&self, copy: &mut Vec<u8>) -> (usize, usize) {
        copy.reserve(self.size());
        self.blocks.iter().filter(|block| !block.freed).for_each(|block| copy.extend_from_slice(Blocks::bytes(block)));
        (self.blocks.len(), self.kept.len())
    }

    /// Whether nothing was written to them since, but for words that may be, and none was allocated or freed.
    pub fn are_as_copied(
        &self,
        copy: &[u8],
        count: (usize, usize),
        may_be: impl Fn(&(usize, &[u8], &[u8])) -> bool,
    ) -> bool {
        if count != (self.blocks.len(), self.kept.len()) {
            return false;
        }
        let mut rest = copy;
        for block in self.blocks.iter().filter(|block| !block.freed) {
            match rest.split_at_checked(block.id.size) {
                Some((before, others)) if are_same(before, Blocks::bytes(block)) => rest = others,
                Some((before, others)) if changed_words(block, before).all(|changed| may_be(&changed)) => rest = others,
                _ => return false,
            }
        }
        rest.is_empty()
    }

    /// A number that is another one after something was written to the blocks that live, or one was allocated or freed.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = Number::default();
        for block in self.blocks.iter().filter(|block| !block.freed) {
            let (at, words) = (block.at, block.id.size / 8);
            hasher.write_usize(at);
            for n in 0..words {
                let word = std::ptr::with_exposed_provenance::<u64>(at + 8 * n);
                // SAFETY: the block lives. It may be aligned less than a word, and no reference to it is in use: nobody runs.
                hasher.write_u64(unsafe { word.read_unaligned() });
            }
            for n in 8 * words..block.id.size {
                let byte = std::ptr::with_exposed_provenance::<u8>(at + n);
                // SAFETY: as above.
                hasher.write_u8(unsafe { byte.read_volatile() });
            }
        }
        hasher.finish()
    }

    /// What is in the blocks: one that was freed has nothing in it.
    pub fn contents(&self) -> Vec<Vec<u64>> {
        self.blocks.iter().map(Blocks::content).collect()
    }

    /// The block that an address points into, if it lives: its address, and the words in it.
    pub fn content_at(&self, at: usize) -> Option<(usize, Vec<u64>)> {
        let block = self.find(at).filter(|block| !block.freed)?;
        Some((block.at, Blocks::content(block)))
    }

    fn content(block: &Block) -> Vec<u64> {
        let size = if block.freed { 0 } else { block.id.size };
        let byte = |n: usize| {
            let byte = std::ptr::with_exposed_provenance::<u8>(block.at + n);
            // SAFETY: the block lives, and no reference to it is in use: nobody runs.
            u64::from(unsafe { byte.read_volatile() })
        };
        let word = |n: usize| match size - n {
            8.. => {
                let word = std::ptr::with_exposed_provenance::<u64>(block.at + n);
                // SAFETY: as above. It may be aligned less than a word.
                unsafe { word.read_unaligned() }
            }
            rest => (0..rest).fold(0, |word, m| word | byte(n + m) << (8 * m)),
        };
        (0..size).step_by(8).map(word).collect()
    }

    /// A number for all words that have changed since the blocks had these contents, and for blocks that were freed or
    /// allocated since, whatever order that was done in. Words count as what they are `known_as`, if anything.
    pub fn changes(&self, since: &[Vec<u64>], known_as: impl Fn(u64) -> Option<u64>) -> u64 {
        let mut changes = 0u64;
        let mut changed = |what: &dyn Fn(&mut Number)| {
            let mut hasher = Number::default();
            what(&mut hasher);
            changes = changes.wrapping_add(hasher.finish());
        };
        for (n, block) in self.blocks.iter().enumerate() {
            let now = Blocks::content(block);
            let before = since.get(n);
            if before.is_none_or(|before| before.len() != now.len()) {
                changed(&|hasher| (block.id, block.freed).hash(hasher));
            }
            for (m, &word) in now.iter().enumerate() {
                if before.and_then(|before| before.get(m)) != Some(&word)
                    && let Some(word) = known_as(word)
                {
                    changed(&|hasher| (block.id, m, word).hash(hasher));
                }
            }
        }
        changes
    }

    /// All blocks of the run, in the order in which they were allocated.
    pub fn all(&self) -> &[Block] {
        &self.blocks
    }

    /// The words in a block; none if it was freed.
    pub fn words(&self, n: usize) -> Vec<u64> {
        Blocks::content(&self.blocks[n])
    }

    /// The blocks that were written to, allocated or freed since the others were copied, with what was in those that were there;
    /// none if some were put back since.
    pub fn changed_since<'a>(&self, copy: &'a [u8], (made, freed): (usize, usize)) -> Option<Vec<ChangedBlock<'a>>> {
        let freed: FxHashSet<usize> = self.kept.get(freed..)?.iter().map(|&(at, _)| at).collect();
        let mut rest = copy;
        let mut changed: Vec<ChangedBlock<'_>> = (made..self.blocks.len()).map(|n| (n, None)).collect();
        for (n, block) in self.blocks.get(..made)?.iter().enumerate() {
            if !block.freed || freed.contains(&block.at) {
                let (before, others) = rest.split_at_checked(block.id.size)?;
                rest = others;
                if block.freed || Blocks::bytes(block) != before {
                    changed.push((n, Some(before)));
                }
            }
        }
        Some(changed)
    }

    /// How many blocks were allocated in this run.
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Whether an address points into a block, or to the end of one, that was freed in this run.
    #[inline]
    pub fn is_freed(&self, at: usize) -> bool {
        self.has_freed(at) && self.find(at).is_some_and(|block| block.freed)
    }

    /// Whether that may be so.
    #[inline]
    pub fn has_freed(&self, at: usize) -> bool {
        // What was put back since may be in there as well.
        if !self.freed.contains(&at) {
            return false;
        }
        // Few are, and what is freed is not allocated again.
        let within = |&(block, layout): &(usize, Layout)| at.wrapping_sub(block) <= layout.size();
        self.kept.iter().any(within)
    }

    /// A run starts: gives back what the last one has freed.
    pub fn new_run(&mut self) {
        let left: usize = self.blocks.iter().filter(|block| !block.freed).map(|block| block.id.size).sum();
        self.blocks.clear();
        if !self.index.is_empty() {
            self.index.clear();
        }
        self.counts.iter_mut().for_each(Vec::clear);
        self.modelled.clear();
        self.fresh.clear();
        self.now = 0;
        self.leaked += left;
        (self.tries_out, self.freed_other) = (false, false);
        self.freed = 0..0;
        while let Some((at, layout)) = self.kept.pop() {
            self.give_back(at, layout);
        }
        while let Some((at, layout, freed)) = self.scrap.pop() {
            match freed {
                true => self.give_back(at, layout),
                // Somebody outside of the model may have got it.
                false => self.leaked += layout.size(),
            }
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.give_up_spare();
    }
}

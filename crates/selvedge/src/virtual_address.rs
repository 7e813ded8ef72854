//! Virtual addresses: pointers as the engine sees them.
//!
//! Values that threads pass to each other have to be the same in every run of a model, and addresses are not. A pointer
//! into a block that a thread of the model has allocated, to a thread's stack, or into a run's copy of what a static contains
//! (`content.rs`), becomes a virtual address when it is stored into an atomic, and is turned back when it is loaded. Virtual
//! addresses of a block are in order and aligned as the block is, so that what programs do with the low bits of pointers works
//! as usual; the 16 highest bits are left alone. Other values, pointers to statics among them, stay as they are.

use crate::blocks::{BlockId, Blocks};
use crate::places::Places;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;

pub(crate) const ADDRESS: u64 = (1 << 48) - 1;
/// Where the blocks are; no system puts anything there, half way between the lowest and the highest addresses.
const HEAP: u64 = 0x2a00_0000_0000;
const STACKS: u64 = 0x2b00_0000_0000;
const END: u64 = 0x2c00_0000_0000;
/// Blocks start at multiples of this; and of so many it is noted which block they belong to.
const PAGE: u64 = 4096;
const MOST_PAGES: u64 = 1 << 16;
/// The room for a stack.
const STACK: u64 = 1 << 24;

/// Whether a value may be a pointer that the engine sees as something else.
#[inline]
pub(crate) fn may_be_pointer(value: u64) -> bool {
    value & ADDRESS >= 1 << 12
}

/// Whether a value may be a virtual address.
#[inline]
pub(crate) fn may_be_virtual(value: u64) -> bool {
    (HEAP..END).contains(&(value & ADDRESS))
}

/// What pointers point into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Target {
    Block(BlockId),
    /// By the address of the original, which may be that of the static as well.
    Copy(usize),
}

/// The virtual addresses of blocks and copies, in all runs.
pub(crate) struct VirtualAddresses {
    bases: FxHashMap<Target, u32>,
    /// The first virtual address and the size of every block and copy, in order.
    ranges: Vec<(u64, usize)>,
    /// Which of them a page of virtual addresses belongs to.
    pages: Vec<u32>,
    /// Where they are in this run; 0 if they are not.
    now: Vec<usize>,
    /// Which one was last at an address. It is still there if it is there now.
    last: [u32; LAST],
}

/// So many are known without being looked up.
const LAST: usize = 64;

impl Default for VirtualAddresses {
    fn default() -> VirtualAddresses {
        VirtualAddresses {
            bases: FxHashMap::default(),
            ranges: Vec::new(),
            pages: Vec::new(),
            now: Vec::new(),
            last: [0; LAST],
        }
    }
}

impl VirtualAddresses {
    /// Another model starts.
    pub fn new_model(&mut self) {
        self.bases.clear();
        self.ranges.clear();
        self.pages.clear();
        self.now.clear();
    }

    /// A run starts.
    pub fn new_run(&mut self) {
        self.now.fill(0);
    }

    /// Keeps where blocks and copies are in this run.
    pub fn save(&self, saved: &mut Vec<usize>) {
        saved.clone_from(&self.now);
    }

    /// Puts that back. What a thread has allocated that was tried out may be the same block as what it allocates then, elsewhere.
    pub fn put_back(&mut self, saved: &[usize]) {
        let (known, new) = self.now.split_at_mut(saved.len());
        known.copy_from_slice(saved);
        new.fill(0);
    }

    /// What the engine sees of a value.
    pub fn virtual_of(&mut self, value: u64, blocks: &Blocks, places: &Places) -> u64 {
        let at = (value & ADDRESS) as usize;
        if !may_be_pointer(value) {
            return value;
        }
        let tag = value & !ADDRESS;
        if let Some(copy) = places.copy_at(at) {
            return tag | (self.base(Target::Copy(copy.original), copy.at, copy.size) + (at - copy.at) as u64);
        }
        if let Some(block) = blocks.find(at) {
            return tag | (self.base(Target::Block(block.id), block.at, block.id.size) + (at - block.at) as u64);
        }
        match places.on_stack(at) {
            Some((thread, depth)) => tag | (STACKS + (thread.index() as u64 + 1) * STACK - depth as u64),
            None => value,
        }
    }

    /// The addresses of the blocks and copies to which pointers were stored into atomics in this run.
    pub fn handed_over(&self) -> impl Iterator<Item = u64> {
        self.now.iter().filter(|&&at| at != 0).map(|&at| at as u64)
    }

    /// The first virtual address of what is at an address in this run.
    fn base(&mut self, target: Target, at: usize, size: usize) -> u64 {
        // Blocks are apart from each other by 16 bytes, or more.
        let last = self.last[at / 16 % LAST] as usize;
        if self.now.get(last) == Some(&at) {
            return self.ranges[last].0;
        }
        let next = self.ranges.len() as u32;
        let id = *self.bases.entry(target).or_insert(next) as usize;
        if id == self.ranges.len() {
            let end = self.ranges.last().map_or(HEAP, |&(base, size)| base + size as u64 + 1);
            // Blocks of a page or more are rarely aligned to more than that.
            let base = end.next_multiple_of(PAGE);
            self.ranges.push((base, size));
            // What points to the end of a block counts as part of it. No page is left out.
            let pages = (base + size as u64 - HEAP) / PAGE + 1;
            if pages <= MOST_PAGES && self.pages.len() as u64 == (base - HEAP) / PAGE {
                self.pages.resize(pages as usize, next);
            }
            self.now.push(0);
        }
        self.now[id] = at;
        self.last[at / 16 % LAST] = id as u32;
        self.ranges[id].0
    }

    /// The value that the model's code sees.
    #[inline]
    pub fn real_of(&self, value: u64, places: &Places) -> u64 {
        let at = value & ADDRESS;
        if !may_be_virtual(value) {
            return value;
        }
        let tag = value & !ADDRESS;
        if at >= STACKS {
            let thread = (at - STACKS) / STACK;
            let depth = (thread + 1) * STACK - (at - STACKS);
            let real = places.stack_at(ThreadId::new(thread as usize), depth as usize);
            return real.map_or(value, |real| tag | real as u64);
        }
        let id = match self.pages.get(((at - HEAP) / PAGE) as usize) {
            Some(&id) => id as usize,
            None => self.ranges.partition_point(|&(base, _)| base <= at).wrapping_sub(1),
        };
        match self.ranges.get(id) {
            Some(&(base, size)) if at - base <= size as u64 && self.now[id] != 0 => {
                tag | (self.now[id] as u64 + (at - base))
            }
            _ => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Copied;

    #[test]
    fn a_pointer_to_a_stack_goes_there_and_back() {
        let (mut places, blocks, mut virtuals) = (Places::new(), Blocks::default(), VirtualAddresses::default());
        let thread = ThreadId::new(3);
        places.stack(thread, 0x7f00_0000_0000, 0x7f00_0010_0000);
        let pointer = 0x0001_7f00_000f_fff8;
        let seen = virtuals.virtual_of(pointer, &blocks, &places);
        assert_ne!(seen, pointer);
        assert_eq!(virtuals.real_of(seen, &places), pointer);
        places.new_run();
        places.stack(thread, 0x7e00_0000_0000, 0x7e00_0010_0000);
        assert_eq!(virtuals.real_of(seen, &places), 0x0001_7e00_000f_fff8);
    }

    #[test]
    fn a_pointer_to_what_is_in_a_static_goes_there_and_back() {
        let (mut places, blocks, mut virtuals) = (Places::new(), Blocks::default(), VirtualAddresses::default());
        let copy = Copied { at: 0x7f00_0000_0000, size: 64, original: 0x5555_0000_0000 };
        places.copied(copy);
        let seen = virtuals.virtual_of(0x7f00_0000_0021, &blocks, &places);
        assert_eq!(virtuals.real_of(seen, &places), 0x7f00_0000_0021);
        places.new_run();
        virtuals.new_run();
        places.copied(Copied { at: 0x7e00_0000_0000, ..copy });
        assert_eq!(virtuals.virtual_of(0x7e00_0000_0021, &blocks, &places), seen);
        assert_eq!(virtuals.real_of(seen, &places), 0x7e00_0000_0021);
    }

    #[test]
    fn small_numbers_and_unknown_addresses_stay_as_they_are() {
        let (places, blocks, mut virtuals) = (Places::new(), Blocks::default(), VirtualAddresses::default());
        for value in [0, 1, 4095, 0x5555_5555_0000, u64::MAX] {
            assert_eq!(virtuals.virtual_of(value, &blocks, &places), value);
            assert_eq!(virtuals.real_of(value, &places), value);
        }
    }
}

//! Memory that a model's threads allocate: which block is which, in every execution.
//!
//! Addresses are not the same in every run of a model: they are up to the system's allocator. What is the same is which
//! block it is: the n-th of its layout that its thread has allocated. So allocations that are made while a thread
//! of a model runs are noted. Objects of the model that lie in a block are known by it and their offset, whoever comes to
//! them first (`places.rs`); and pointers that threads pass to each other become *virtual* addresses for the engine, which are
//! the same in every run (`virtual_address.rs`).
//!
//! What a model's thread frees is given back when the run is over, so that no address is used twice in a run: a pointer that
//! is left over never meets a new object.

// An allocator.
#![allow(unsafe_code)]

use crate::number::Number;
use crate::runtime;
use rustc_hash::FxHashSet;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut, Range};

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
    /// Whether the inner allocator works for a thread of a model.
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// Whether an allocator is at work for the thread of a model that runs, on this thread of the operating system.
pub(crate) fn is_at_work() -> bool {
    WORKS.get() || QUIET.get() > 0
}

/// Calls the inner allocator for a thread of a model.
#[inline]
fn at_work<R>(f: impl FnOnce() -> R) -> R {
    WORKS.set(true);
    let done = f();
    WORKS.set(false);
    done
}

// SAFETY: blocks come from and go to the inner allocator with the layouts that the caller gives; what a model's thread frees
// goes there later.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Tracking<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !runtime::is_inside() {
            // SAFETY: the caller keeps the contract.
            return unsafe { self.0.alloc(layout) };
        }
        // SAFETY: the caller keeps the contract.
        let block = at_work(|| unsafe { self.0.alloc(layout) });
        note(block, layout);
        tidy();
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !runtime::is_inside() {
            // SAFETY: the caller keeps the contract.
            return unsafe { self.0.alloc_zeroed(layout) };
        }
        // SAFETY: the caller keeps the contract.
        let block = at_work(|| unsafe { self.0.alloc_zeroed(layout) });
        note(block, layout);
        tidy();
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !runtime::is_inside() {
            // SAFETY: the caller keeps the contract.
            return unsafe { self.0.dealloc(block, layout) };
        }
        match freed(block, layout) {
            Freed::Kept => {}
            // SAFETY: the caller keeps the contract.
            Freed::Other => at_work(|| unsafe { self.0.dealloc(block, layout) }),
            Freed::Twice => runtime::freed_twice(),
        }
        tidy();
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
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Clears what allocators have left below on the stack of a model's thread, if that is compared. They leave pointers to what
/// they keep between blocks: that is the end of one block, or even part of it, and would be taken for a pointer to it. And lists
/// of blocks grow in some runs only.
#[inline]
fn tidy() {
    if QUIET.get() == 0 && !runtime::is_busy() {
        runtime::tidy();
    }
}

/// The blocks, if a model's own code runs.
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

fn note(block: *mut u8, layout: Layout) {
    if !block.is_null() && with(|blocks| blocks.note(block.addr(), layout)).is_some() {
        // Memory is compared, with that of other runs too: what was left over in it would tell them apart.
        // SAFETY: the block was allocated with this layout just now.
        unsafe { block.write_bytes(0, layout.size()) };
    }
}

/// A block is freed: what becomes of it.
fn freed(block: *mut u8, layout: Layout) -> Freed {
    with(|blocks| blocks.free(block.addr(), layout)).unwrap_or(Freed::Other)
}

/// What becomes of a block that is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Freed {
    /// It is given back when the run is over.
    Kept,
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
}

/// The blocks of a run.
#[derive(Default)]
pub(crate) struct Blocks {
    /// In the order in which they were allocated.
    blocks: Vec<Block>,
    /// By their addresses, if there are more than a few.
    index: BTreeMap<usize, usize>,
    /// How many blocks of each layout a thread has allocated.
    counts: Vec<Vec<(usize, usize, u32)>>,
    /// What was freed in this run.
    kept: Vec<(usize, Layout)>,
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
    /// What threads have allocated that were put back since, and whether they had freed it.
    scrap: Vec<(usize, Layout, bool)>,
}

/// The blocks of a run at some point, with what was in them.
#[derive(Default)]
pub(crate) struct SavedBlocks {
    blocks: Vec<Block>,
    counts: Vec<Vec<(usize, usize, u32)>>,
    kept: Vec<(usize, Layout)>,
    now: u32,
    /// What was in those that were not freed, in order.
    contents: Vec<u8>,
}

/// A block that has changed, by number, and what was in it, if it was there.
pub(crate) type ChangedBlock<'a> = (usize, Option<&'a [u8]>);

/// Up to eight bytes as one word.
fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// So many are looked at one by one.
const FEW: usize = 48;

impl Blocks {
    fn note(&mut self, at: usize, layout: Layout) {
        let Some(thread) = runtime::current() else { return };
        let id = self.next(thread, layout);
        self.blocks.push(Block { id, at, made: self.now, freed: false });
        if self.blocks.len() > FEW {
            let from = self.index.len();
            self.index.extend(self.blocks.iter().enumerate().skip(from).map(|(n, block)| (block.at, n)));
        }
    }

    /// The next block of a layout that a thread allocates.
    fn next(&mut self, thread: ThreadId, layout: Layout) -> BlockId {
        let (size, align) = (layout.size(), layout.align());
        if self.counts.len() <= thread.index() {
            self.counts.resize_with(thread.index() + 1, Vec::new);
        }
        let counts = &mut self.counts[thread.index()];
        let known = counts.iter_mut().find(|count| (count.0, count.1) == (size, align));
        let nth = match known {
            Some((.., count)) => {
                *count += 1;
                *count - 1
            }
            None => {
                counts.push((size, align, 1));
                0
            }
        };
        BlockId { thread, size, align, nth }
    }

    fn free(&mut self, at: usize, layout: Layout) -> Freed {
        let found = match self.blocks.len() {
            0..=FEW => self.blocks.iter().rposition(|block| block.at == at && !block.freed),
            _ => self.position(at).filter(|&n| self.blocks[n].at == at && !self.blocks[n].freed),
        };
        if let Some(n) = found {
            self.blocks[n].freed = true;
            if let Some(early) = &mut self.freed_early
                && !runtime::alone()
            {
                early.insert(self.blocks[n].id);
            }
            self.kept.push((at, layout));
            return Freed::Kept;
        }
        if self.kept.iter().any(|&(kept, _)| kept == at) {
            return Freed::Twice;
        }
        if self.tries_out {
            // It is freed with the rest if all is run again, which has to be done now.
            self.freed_other = true;
            self.kept.push((at, layout));
            return Freed::Kept;
        }
        Freed::Other
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
        self.scrap.retain(|&(at, ..)| !saved.blocks[common..].iter().any(|block| block.at == at));
        if self.blocks.len() > FEW {
            let from = self.index.len();
            self.index.extend(self.blocks.iter().enumerate().skip(from).map(|(n, block)| (block.at, n)));
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
            let is_change = |(n, (now, old)): (usize, (&[u8], &[u8]))| {
                now != old && !may_be(block.at + 8 * n, word_of(old), word_of(now))
            };
            Blocks::bytes(block).chunks(8).zip(content.chunks(8)).enumerate().any(is_change)
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
        self.blocks.iter().filter(|block| !block.freed).for_each(|block| copy.extend_from_slice(Blocks::bytes(block)));
        (self.blocks.len(), self.kept.len())
    }

    /// Whether nothing was written to them since, and none was allocated or freed.
    pub fn are_as_copied(&self, copy: &[u8], count: (usize, usize)) -> bool {
        if count != (self.blocks.len(), self.kept.len()) {
            return false;
        }
        let mut rest = Some(copy);
        for block in self.blocks.iter().filter(|block| !block.freed) {
            rest = rest.and_then(|rest| rest.strip_prefix(Blocks::bytes(block)));
        }
        rest.is_some_and(<[u8]>::is_empty)
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
        self.now = 0;
        self.leaked += left;
        (self.tries_out, self.freed_other) = (false, false);
        let give_back = |(at, layout): (usize, Layout)| {
            // SAFETY: a model's thread has freed this block with this layout, and nobody else has.
            unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(at), layout) };
        };
        self.kept.iter().copied().for_each(give_back);
        self.kept.clear();
        for (at, layout, freed) in self.scrap.drain(..) {
            match freed {
                true => give_back((at, layout)),
                // Somebody outside of the model may have got it.
                false => self.leaked += layout.size(),
            }
        }
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
    pub fn install(&self) {
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

//! Where an object of the model is, so that it is known in every execution.
//!
//! The constructors of atomics and locks are `const`, as those of `std` are: an object cannot ask for a number when it
//! is made. It gets its address for the engine when it is first used in an execution, by whoever comes first, and that must
//! be the same address in all executions. So an object is known by its place:
//!
//! - in a block of memory that a thread of the model has allocated: by the block (`blocks.rs`) and the offset;
//! - on the stack of a thread of the model: by the thread and how deep it lies there;
//! - in this run's copy of what a `static` contains (`content.rs`): by where it would be in the original, which no run touches;
//! - elsewhere (a `static`, or something that the model's closure has captured): by its address, since it does not move.
//!
//! An object that is made in the place of another one, in the same execution, is of the next *generation*. That is
//! the same in every execution too: who has used the old one has done so before the new one was made, and that is part
//! of any execution in which the new one is used.
//!
//! An object carries the number that it has got with it: one that is moved after it was used is still known.

use crate::blocks::{BlockId, Blocks};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::memory::{Addresses, ObjectKind};
use selvedge_machine::{Addr, Memory, ThreadId};
use std::ops::Range;

/// Where an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    /// In a block.
    Heap { block: BlockId, offset: usize },
    /// On a thread's stack.
    Stack { thread: ThreadId, depth: usize },
    /// In a copy of what is outside.
    Copy { original: usize },
    /// Elsewhere.
    Outside { address: usize },
}

/// A copy of what is outside, in this run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// Where it is, and how large.
    pub at: usize,
    pub size: usize,
    /// Where the original is.
    pub original: usize,
}

/// An object that a thread has met for the first time in this run; the engine's memory has to hear of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub addr: Addr,
    pub size: u8,
    pub init: u64,
    /// Whose object it is, which one of his, and when it was made.
    pub owner: Option<(ThreadId, u32, u32)>,
    /// Whether it lies in memory that is not this run's.
    pub outside: bool,
}

/// What is known of a place.
#[derive(Default)]
struct Known {
    /// The last run in which something was met there, and how many objects.
    run: u64,
    generation: usize,
    /// Address and number of each generation's object.
    slots: Vec<(Addr, u32)>,
}

/// The addresses of objects, in all runs.
pub(crate) struct Places {
    known: FxHashMap<Place, Known>,
    run: u64,
    /// The stacks of this run's threads.
    stacks: Vec<(usize, usize)>,
    /// This run's copies of what is outside, in order.
    copies: Vec<Copied>,
    /// Addresses of objects that belong to threads, by (thread, number), and of those that were counted by `made`.
    addresses: Vec<Vec<Addr>>,
    made: Vec<Vec<u32>>,
    /// The sizes of objects that belong to threads, by (thread, number).
    sizes: Vec<Vec<u64>>,
    /// Blocks from `alloc::alloc` of this run: whatever is in them is part of one object.
    whole: FxHashMap<usize, (Addr, u32)>,
    numbering: Addresses,
    outside: u64,
    block: Addr,
    /// Words of channels, by the channel and their number in it.
    channels: FxHashMap<(Addr, u64), Addr>,
    /// What places where something was met were known by before that, if it is noted: it can be taken back.
    trail: Vec<Was>,
    notes_trail: bool,
}

/// The last run in which something was met at a place, and how many objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Was {
    place: Place,
    run: u64,
    generation: usize,
}

/// How many objects from outside a model can be used in it, and how many threads there can be.
const OUTSIDE: u64 = 2048;
const PARKS: u64 = selvedge_machine::memory::MAX_THREADS as u64;
/// How many words channels can have in a model, besides those that they are made with.
const CHANNELS: u64 = 1 << 13;
/// The size of the memory for all of them.
const BLOCK: u64 = ROOM * OUTSIDE + 8 * PARKS + 8 * CHANNELS + 2 * 8 * PARKS;
/// Every object has room for all sizes, so that a place may have objects of different sizes in different executions.
const ROOM: u64 = 16;
/// What lies further behind in a block is an object of its own.
const LARGEST: u64 = 1 << 16;
/// Two objects in a block are at least this far from each other.
const SPACING: usize = size_of::<crate::object::Word>();

fn offset(size: u8) -> u64 {
    match size {
        1 => 14,
        2 => 12,
        4 => 8,
        _ => 0,
    }
}

impl Places {
    /// No objects yet.
    pub fn new() -> Places {
        let mut numbering = Addresses::default();
        let block = numbering.next(None, ObjectKind::Global, BLOCK).expect("the first object finds room");
        Places {
            known: FxHashMap::default(),
            run: 1,
            stacks: Vec::new(),
            copies: Vec::new(),
            addresses: Vec::new(),
            made: Vec::new(),
            sizes: Vec::new(),
            whole: FxHashMap::default(),
            numbering,
            outside: 0,
            block,
            channels: FxHashMap::default(),
            trail: Vec::new(),
            notes_trail: false,
        }
    }

    /// Another model starts: nothing is known of its objects.
    pub fn new_model(&mut self) {
        self.known.clear();
        self.addresses.iter_mut().for_each(Vec::clear);
        self.made.iter_mut().for_each(Vec::clear);
        self.sizes.iter_mut().for_each(Vec::clear);
        self.numbering.clear();
        self.outside = 0;
        self.channels.clear();
        let block = self.numbering.next(None, ObjectKind::Global, BLOCK);
        debug_assert_eq!(block, Some(self.block), "the first object always has the same address");
        self.new_run();
    }

    /// A run starts.
    pub fn new_run(&mut self) {
        self.run += 1;
        self.stacks.clear();
        self.copies.clear();
        self.whole.clear();
        self.trail.clear();
        self.notes_trail = false;
    }

    /// How much has been met since that is noted; from now on it is.
    pub fn trail(&mut self) -> usize {
        self.notes_trail = true;
        self.trail.len()
    }

    /// What is known now of places where something was met since the trail had this length.
    pub fn met_since(&self, trail: usize) -> impl Iterator<Item = Was> {
        self.trail[trail..].iter().map(|was| {
            let (run, generation) = self.known.get(&was.place).map_or((0, 0), |known| (known.run, known.generation));
            Was { run, generation, ..*was }
        })
    }

    /// Takes back that something was met since the trail had this length, and says that this was met instead.
    pub fn put_back(&mut self, trail: usize, met: &[Was]) {
        for was in self.trail.drain(trail..).rev() {
            let known = self.known.entry(was.place).or_default();
            (known.run, known.generation) = (was.run, was.generation);
        }
        for was in met {
            let known = self.known.entry(was.place).or_default();
            self.trail.push(Was { run: known.run, generation: known.generation, ..*was });
            (known.run, known.generation) = (was.run, was.generation);
        }
    }

    /// A thread's stack in this run, from its lowest to its highest address.
    pub fn stack(&mut self, thread: ThreadId, limit: usize, base: usize) {
        if self.stacks.len() <= thread.index() {
            self.stacks.resize(thread.index() + 1, (0, 0));
        }
        self.stacks[thread.index()] = (limit, base);
    }

    /// The highest address of a thread's stack.
    pub fn base(&self, thread: ThreadId) -> usize {
        self.stacks.get(thread.index()).map_or(0, |&(_, base)| base)
    }

    /// Whether an object is one of a thread's own: in memory that it has allocated, or on its stack.
    pub fn is_of(&self, addr: Addr, thread: ThreadId) -> bool {
        let Some(addresses) = self.addresses.get(thread.index()) else { return false };
        let n = addresses.partition_point(|&base| base <= addr);
        n > 0 && addr.0 - addresses[n - 1].0 < self.sizes[thread.index()][n - 1]
    }

    /// The block that an object is in, if it is in one.
    pub fn block_of(&self, addr: Addr) -> Option<BlockId> {
        let here = |&(base, _): &(Addr, u32)| (base.0..base.0 + ROOM).contains(&addr.0);
        let (place, _) = self.known.iter().find(|(_, known)| known.slots.iter().any(here))?;
        match place {
            Place::Heap { block, .. } => Some(*block),
            _ => None,
        }
    }

    /// Which thread's stack an address is on, and how deep.
    pub fn on_stack(&self, at: usize) -> Option<(ThreadId, usize)> {
        let thread = self.stacks.iter().position(|&(limit, base)| limit <= at && at < base)?;
        Some((ThreadId::new(thread), self.stacks[thread].1 - at))
    }

    /// From the lowest to the highest address of all stacks.
    pub fn stack_bounds(&self) -> Range<usize> {
        let stacks = self.stacks.iter().filter(|&&(_, base)| base != 0);
        let start = stacks.clone().map(|&(limit, _)| limit).min().unwrap_or(0);
        start..stacks.map(|&(_, base)| base).max().unwrap_or(0)
    }

    /// The address at this depth of a thread's stack.
    pub fn stack_at(&self, thread: ThreadId, depth: usize) -> Option<usize> {
        self.stacks.get(thread.index()).map(|&(_, base)| base - depth)
    }

    /// There is a copy of what is outside, until the run ends.
    pub fn copied(&mut self, copy: Copied) {
        let n = self.copies.partition_point(|other| other.at < copy.at);
        self.copies.insert(n, copy);
    }

    /// The copy that an address is in.
    #[inline]
    pub fn copy_at(&self, at: usize) -> Option<&Copied> {
        let n = self.copies.partition_point(|copy| copy.at <= at);
        self.copies[..n].last().filter(|copy| at - copy.at < copy.size)
    }

    /// From the lowest to the highest address of all copies.
    pub fn copy_bounds(&self) -> Range<usize> {
        let start = self.copies.first().map_or(0, |copy| copy.at);
        start..self.copies.last().map_or(0, |copy| copy.at + copy.size)
    }

    /// The place of what is at an address.
    pub fn place(&self, at: usize, blocks: &Blocks) -> (Place, u32) {
        // First, since what points to the end of a block counts as part of it, and a copy may start there.
        if let Some(copy) = self.copy_at(at) {
            return (Place::Copy { original: copy.original + (at - copy.at) }, 0);
        }
        if let Some(block) = blocks.find(at) {
            return (Place::Heap { block: block.id, offset: at - block.at }, block.made);
        }
        match self.on_stack(at) {
            Some((thread, depth)) => (Place::Stack { thread, depth }, 0),
            None => (Place::Outside { address: at }, 0),
        }
    }

    /// An object is met for the first time in this run.
    pub fn meet(&mut self, at: usize, size: u8, init: u64, blocks: &Blocks) -> Met {
        let (place, made) = self.place(at, blocks);
        let known = self.known.entry(place).or_default();
        if self.notes_trail {
            self.trail.push(Was { place, run: known.run, generation: known.generation });
        }
        if known.run != self.run {
            (known.run, known.generation) = (self.run, 0);
        }
        let generation = known.generation;
        let slot = known.slots.get(generation).copied();
        known.generation += 1;
        if let Place::Heap { block, offset: from } = place
            && generation == 0
            && let Some(&(base, number)) = self.whole.get(&(at - from))
        {
            let within = ROOM * (from / SPACING) as u64;
            if within < LARGEST {
                let addr = Addr(base.0 + within + offset(size));
                return Met { addr, size, init, owner: Some((block.thread, number, made)), outside: false };
            }
        }
        let owner = match place {
            Place::Heap { block, .. } => Some(block.thread),
            Place::Stack { thread, .. } => Some(thread),
            // What they are part of was there before all threads.
            Place::Copy { .. } | Place::Outside { .. } => None,
        };
        let (base, number) = slot.unwrap_or_else(|| self.slot(place, generation, owner, ROOM));
        let owner = owner.map(|thread| (thread, number, made));
        let outside = matches!(place, Place::Outside { .. });
        Met { addr: Addr(base.0 + offset(size)), size, init, owner, outside }
    }

    /// Whether what was met last in this run at an address, in a block, got some address for the engine because it lies there.
    pub fn is_known_by(&self, at: usize, addr: Addr, blocks: &Blocks) -> bool {
        let (place @ Place::Heap { .. }, _) = self.place(at, blocks) else { return false };
        let Some(known) = self.known.get(&place).filter(|known| known.run == self.run) else { return false };
        let slot = known.generation.checked_sub(1).and_then(|last| known.slots.get(last));
        slot.is_some_and(|(base, _)| (base.0..base.0 + ROOM).contains(&addr.0))
    }

    /// The addresses of what was met last in this run at a place outside of the model, if anything was.
    pub fn met_outside(&self, at: usize, blocks: &Blocks) -> Option<Range<u64>> {
        let (place @ Place::Outside { .. }, _) = self.place(at, blocks) else { return None };
        let known = self.known.get(&place).filter(|known| known.run == self.run)?;
        let (base, _) = *known.slots.get(known.generation.checked_sub(1)?)?;
        Some(base.0..base.0 + ROOM)
    }

    /// The address of a generation's object in a place.
    fn slot(&mut self, place: Place, generation: usize, owner: Option<ThreadId>, size: u64) -> (Addr, u32) {
        loop {
            let slot = self.known.get(&place).and_then(|known| known.slots.get(generation)).copied();
            match slot {
                Some(slot) => return slot,
                None => {
                    let slot = self.new_slot(owner, size);
                    self.known.entry(place).or_default().slots.push(slot);
                }
            }
        }
    }

    /// A thread makes an object: its n-th one that is known when it is made.
    pub fn make(&mut self, thread: ThreadId, n: u32, size: u8, init: u64, now: u32) -> Met {
        if self.made.len() <= thread.index() {
            self.made.resize_with(thread.index() + 1, Vec::new);
        }
        while self.made[thread.index()].len() <= n as usize {
            let (_, number) = self.new_slot(Some(thread), ROOM);
            self.made[thread.index()].push(number);
        }
        let number = self.made[thread.index()][n as usize];
        let base = self.addresses[thread.index()][number as usize];
        let owner = Some((thread, number, now));
        Met { addr: Addr(base.0 + offset(size)), size, init, owner, outside: false }
    }

    /// A thread has allocated a block that is one object from now on, with all that will be made in it.
    pub fn allocate(&mut self, at: usize, blocks: &Blocks) -> Option<Met> {
        let block = *blocks.find(at).filter(|block| block.at == at)?;
        let place = Place::Heap { block: block.id, offset: usize::MAX };
        let owner = Some(block.id.thread);
        let size = (ROOM * (block.id.size / SPACING + 1) as u64).min(LARGEST);
        let (base, number) = self.slot(place, 0, owner, size);
        self.whole.insert(at, (base, number));
        let owner = Some((block.id.thread, number, block.made));
        Some(Met { addr: base, size: 8, init: 0, owner, outside: false })
    }

    /// Whether a block is one object, with all that is in it.
    pub fn is_whole(&self, block: usize) -> bool {
        self.whole.contains_key(&block)
    }

    /// Tells the engine's memory of an object.
    pub fn tell(&self, memory: &mut Memory, met: &Met, thread: ThreadId) {
        let stored = |memory: &mut Memory, thread| {
            memory.store(thread, met.addr, met.size, met.init).expect("an object that is met can be written");
        };
        let Some((owner, number, made)) = met.owner else { return stored(memory, thread) };
        let now = memory.now();
        memory.set_now(made);
        // Addresses are given out in order; objects of the thread that nobody has met in this execution get theirs too.
        while memory.objects_of(owner) <= number as usize {
            let size = self.sizes[owner.index()][memory.objects_of(owner)];
            memory.alloc(Some(owner), ObjectKind::Heap, size, true, 0).expect("small objects find room");
        }
        if memory.is_alive(met.addr) {
            stored(memory, owner);
            memory.publish_own(owner, met.addr);
        }
        memory.set_now(now);
    }

    fn new_slot(&mut self, owner: Option<ThreadId>, size: u64) -> (Addr, u32) {
        let Some(thread) = owner else {
            assert!(
                self.outside < OUTSIDE,
                "a model uses at most {OUTSIDE} objects that are in statics or were made outside of it"
            );
            self.outside += 1;
            return (Addr(self.block.0 + ROOM * (self.outside - 1)), 0);
        };
        if self.addresses.len() <= thread.index() {
            self.addresses.resize_with(thread.index() + 1, Vec::new);
            self.sizes.resize_with(thread.index() + 1, Vec::new);
        }
        self.sizes[thread.index()].push(size);
        let addr = self.numbering.next(Some(thread), ObjectKind::Heap, size);
        let addr = addr.expect("addresses are not used up by small objects");
        let addresses = &mut self.addresses[thread.index()];
        addresses.push(addr);
        (addr, addresses.len() as u32 - 1)
    }

    /// The word that says whether a thread may go on after it has parked.
    pub fn park_word(&self, thread: ThreadId) -> Addr {
        Addr(self.block.0 + ROOM * OUTSIDE + 8 * thread.index() as u64)
    }

    /// The word that says whether a thread has ended, if somebody asks.
    pub fn end_word(&self, thread: ThreadId) -> Addr {
        Addr(self.block.0 + ROOM * OUTSIDE + 8 * PARKS + 8 * CHANNELS + 8 * thread.index() as u64)
    }

    /// The word that says who has let go of what a thread returns, the thread or who could have joined it.
    pub fn result_word(&self, thread: ThreadId) -> Addr {
        Addr(self.end_word(thread).0 + 8 * PARKS)
    }

    /// The n-th word of a channel, and whether it was not known before; none if there are too many.
    pub fn channel_word(&mut self, channel: Addr, n: u64) -> Option<(Addr, bool)> {
        let count = self.channels.len() as u64;
        if let Some(&addr) = self.channels.get(&(channel, n)) {
            return Some((addr, false));
        }
        let addr = Addr(self.block.0 + ROOM * OUTSIDE + 8 * PARKS + 8 * count);
        (count < CHANNELS).then(|| {
            self.channels.insert((channel, n), addr);
            (addr, true)
        })
    }

    /// The same if it is known.
    pub fn known_channel_word(&self, channel: Addr, n: u64) -> Option<Addr> {
        self.channels.get(&(channel, n)).copied()
    }

    /// Whether some channel is used.
    pub fn has_channels(&self) -> bool {
        !self.channels.is_empty()
    }
}

/// The memory for objects from outside. It is the first object of all, so its address is always the same.
pub(crate) fn block(memory: &mut Memory) -> Addr {
    memory.alloc(None, ObjectKind::Global, BLOCK, true, 0).expect("the first object finds room")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_keeps_its_address_and_a_new_object_in_its_place_gets_another() {
        let (mut places, blocks) = (Places::new(), Blocks::default());
        let first = places.meet(64, 8, 0, &blocks).addr;
        let second = places.meet(64, 8, 0, &blocks).addr;
        assert_ne!(first, second);
        places.new_run();
        assert_eq!(places.meet(64, 8, 5, &blocks).addr, first);
    }

    #[test]
    fn what_lies_on_a_stack_is_known_by_its_depth() {
        let (mut places, blocks) = (Places::new(), Blocks::default());
        let thread = ThreadId::new(1);
        places.stack(thread, 0x1000, 0x2000);
        let first = places.meet(0x1f00, 4, 0, &blocks);
        places.new_run();
        places.stack(thread, 0x5000, 0x6000);
        assert_eq!(places.meet(0x5f00, 4, 0, &blocks).addr, first.addr);
        assert_eq!(places.place(0x1f00, &blocks).0, Place::Outside { address: 0x1f00 });
    }

    #[test]
    fn what_is_in_a_copy_is_known_by_where_it_is_in_the_original() {
        let (mut places, blocks) = (Places::new(), Blocks::default());
        places.copied(Copied { at: 0x5000, size: 64, original: 0x100 });
        places.copied(Copied { at: 0x4000, size: 64, original: 0x200 });
        let first = places.meet(0x5020, 8, 0, &blocks);
        assert!(!first.outside && places.meet(0x5040, 8, 0, &blocks).outside, "a copy has an end");
        places.new_run();
        places.copied(Copied { at: 0x4000, size: 64, original: 0x100 });
        assert_ne!(places.meet(0x5020, 8, 0, &blocks).addr, first.addr);
        assert_eq!(places.meet(0x4020, 8, 0, &blocks).addr, first.addr);
        assert_ne!(places.meet(0x120, 8, 0, &blocks).addr, first.addr, "the original is something else");
    }

    #[test]
    fn memory_gives_objects_the_addresses_that_places_expect() {
        let (mut places, mut memory) = (Places::new(), Memory::new());
        block(&mut memory);
        let thread = ThreadId::new(2);
        let [_, second] = [0, 1].map(|n| places.make(thread, n, 8, 7, 0));
        places.tell(&mut memory, &second, thread);
        assert_eq!(memory.load(ThreadId::new(0), second.addr, 8, false), Ok(7));
    }
}

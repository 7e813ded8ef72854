//! What operations and the machine share while a model is run.

use crate::blocks::{Installed, word_of};
use crate::borrow::Borrows;
use crate::content::Copies;
use crate::endless::Endless;
use crate::freed::Frees;
use crate::left_out::LeftOut;
use crate::machine::Left;
use crate::machine::awaits::Awaits;
use crate::number::Number;
use crate::object::{REMEMBERED, Word};
use crate::places::{Met, Place, Places};
use crate::report::BLOCK;
use crate::restored::Counts;
use crate::retry::{Open, Retries, Spot, Standing};
use crate::rounds::Unmarked;
use crate::runtime::At;
use crate::script::Script;
use crate::spin::Waits;
use crate::threads::Threads;
use crate::update::Updates;
use crate::virtual_address::{ADDRESS, VirtualAddresses, may_be_pointer};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Op, ThreadId};
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

mod repeated;
mod saved;
mod tried;

pub(crate) use crate::freed::Life;
pub(crate) use repeated::Repeat;
pub(crate) use saved::SavedShared;

/// A number for each run of a model, unique in the process: what was met in another run is known by it.
static RUNS: AtomicU64 = AtomicU64::new(FIRST_RUN);
/// Large, so that no other word is taken for it.
const FIRST_RUN: u64 = 1 << 38;

/// As much of all stacks is cleared if pointers are looked for there.
const DEEP: usize = 1 << 14;
/// What is on a stack of a model that calls much, in bytes.
const LARGE: usize = 1 << 11;

/// What a thread has done in the present run.
#[derive(Default)]
pub(crate) struct PerThread {
    /// How many objects it has made that are known when they are made.
    pub made: u32,
    /// How many threads it has created.
    pub children: u32,
    /// How many waits of it have timed out.
    pub timeouts: u32,
    /// Where something has failed or woken for no reason, by the address of the place's description; 0 if nothing has.
    pub spurious: usize,
    /// What its destructors have done while it unwound; it has to be performed when it goes on.
    pub deferred: Vec<Deferred>,
    /// Its thread-local variables by the address of their key, in the order in which they were made.
    pub locals: Vec<(usize, Local)>,
    /// Its attempt that an exchange has to confirm.
    pub open: Option<Open>,
    /// Whether a scope waits for it.
    pub is_scoped: bool,
    /// Whether some of its thread-local variables have destructors.
    pub drops_locals: bool,
}

/// An operation of a destructor that runs because of a panic.
pub(crate) struct Deferred {
    pub op: Op,
    pub at: At,
}

/// A thread-local variable.
pub(crate) enum Local {
    /// Being made, or there.
    There(Box<dyn Any>),
    /// It has been dropped.
    Gone,
}

/// What a model is run with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Config {
    /// Which model it is of those that run at the same place, from 1.
    pub nth: u32,
    /// Whether exchanges may fail and waits may end for no reason.
    pub spurious: bool,
    /// How many waits of a thread may time out.
    pub timeouts: u32,
    /// Whether a panic ends its thread only.
    pub panics_end_threads: bool,
    /// Whether every `Arc` is counted.
    pub count_arcs: bool,
    /// Whether senders of channels are counted.
    pub count_senders: bool,
    /// Whether several threads send to a channel into which somebody looks. Then senders are counted.
    pub many_senders: bool,
    /// How `fetch_update` is explored.
    pub updates: Updates,
    /// Whether somebody asks if threads have ended, or waits for that and not for what comes after it: then they say so.
    pub sees_ends: bool,
    /// Whether handles of threads are dropped that return what has to be dropped: then it is part of the model who drops it.
    pub drops_results: bool,
}

/// What operations and the machine share.
pub(crate) struct Shared {
    /// The present run.
    pub run: u64,
    /// What is outside of the model is not put back with a thread that has met it (`saved.rs`). What is met after that gets the
    /// number that it has got, so it must not remember the same run: this is that of what was met outside of the model, another
    /// one than that of what was met inside, and a new one after each that was not put back.
    mark: u64,
    pub config: Config,
    pub left_out: LeftOut,
    /// How often somebody has looked at something from outside without an operation.
    pub asked: u64,
    /// Places at which something may fail or end for no reason, by the addresses of their descriptions.
    pub without_reason: FxHashMap<usize, (&'static str, At)>,
    /// Where `Arc`s are made of which there have been `Weak`s, in whichever run.
    pub weakened: FxHashSet<Spot>,
    /// Whether preemptions are counted, and if so, operations with which loops that wait begin.
    pub bounded: bool,
    /// Whether executions are run again in another order (`machine/reordered.rs`).
    pub reorders: bool,
    pub beginnings: Vec<At>,
    /// How many messages there is room for in channels, by their addresses; if preemptions are counted.
    pub rooms: FxHashMap<Addr, u64>,
    /// What its threads have done.
    pub per_thread: Vec<PerThread>,
    /// Objects that the machine does not know of yet.
    pub met: Vec<Met>,
    /// Bodies of threads that are about to start.
    pub bodies: Vec<(ThreadId, Box<dyn FnOnce()>)>,
    /// Threads that were created and have not been joined.
    pub unjoined: u32,
    /// Values that must not be leaked, were made in this run and live: what they are and where they were made.
    pub live: FxHashMap<u64, (&'static str, At)>,
    next_live: u64,
    /// Which threads there are.
    pub threads: Threads,
    /// Where objects are.
    pub places: Places,
    /// Memory that the model's threads have allocated.
    pub blocks: Installed,
    /// Pointers as the engine sees them.
    pub virtuals: VirtualAddresses,
    /// Counts of `Arc`s that were turned into raw pointers in this run, and their number in `live`.
    pub raw_arcs: FxHashMap<usize, (Option<Arc<Word>>, u64)>,
    /// What `lazy_static!`s are in this run, by the address of their key, in the order in which they were made.
    pub lazies: Vec<(usize, Box<dyn Any>)>,
    /// How often messages were put into channels and taken out of them.
    pub handed_over: u64,
    /// Words of what has none of its own, by its address.
    pub words: FxHashMap<usize, u64>,
    /// Copies of what is in statics.
    pub copies: Copies,
    /// Where references are counted.
    pub counts: Counts,
    /// Memory from `alloc::alloc` by its address: the object that stands for it, and its number in `live`.
    pub allocations: FxHashMap<usize, (Addr, u64)>,
    /// Who accesses objects that lie in blocks, and which blocks they have left.
    pub frees: Frees,
    /// Where objects were made, and what they are.
    pub origins: FxHashMap<Addr, (&'static str, At)>,
    /// Words that say whether a thread may go on that has parked.
    pub parks: FxHashMap<Addr, ThreadId>,
    /// Objects that were met in this run, by the number that they have got.
    pub numbers: Vec<Numbered>,
    /// Which cells are being accessed.
    pub borrows: Borrows,
    /// How many operations of runs that were repeated threads have performed without being resumed.
    pub repeated: u64,
    /// An address in the frame that has started the model.
    pub top: usize,
    /// How much of a stack is looked at when threads spin; 0 if none does.
    pub spins: usize,
    /// Where threads spin.
    pub awaits: Awaits,
    /// Locks that somebody tries to take in some execution, and so may find held; and who does, if it is one thread.
    tried: FxHashMap<Addr, Option<ThreadId>>,
    /// Whether others are taken to try all locks.
    pub all_are_tried: bool,
    /// Whether a cycle in which locks are taken was taken for a pure one.
    pub spins_with_locks: bool,
    /// Where threads come again and again without saying that they spin.
    pub unmarked: Unmarked,
    /// Where threads try again.
    pub retries: Retries,
    /// Whether what runs is tried out only, perhaps with values that no execution has.
    pub tries_out: bool,
    /// Where threads that are tried out have announced that they write, if there are not too many such places.
    pub announced: Vec<(usize, usize)>,
    /// The exploration has to start again.
    pub restart: bool,
    /// What threads do that wait; and what was found of that since the exploration has started.
    pub waits: Waits,
    found: Waits,
    /// Where they come round and round, and never back.
    pub endless: Endless,
    /// Whether one execution is run, and no thread runs twice.
    pub once: bool,
    /// Whether threads were found to spin for ever in that execution.
    pub for_ever: bool,
    /// How often a run has differed from its record.
    pub mismatches: u32,
    /// How many executions have ended, of explorations that were broken off as well.
    pub ended: u64,
    /// Whether it is known that the allocator tells what the model allocates.
    pub tracked: bool,
    /// The steps of a run that is being repeated.
    pub script: Script,
    /// What the last machine has left, and the last exploration.
    pub left: Left,
    pub storage: selvedge_graph::Storage,
}

/// An object that was met in this run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Seen {
    pub addr: Addr,
    /// Whether it lies in memory that is not this run's: in a `static`, or in what the model's closure has captured. What
    /// is in this run's copy of that does not.
    pub outside: bool,
}

/// An object that was met in this run, and the value that it had first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    pub seen: Seen,
    pub init: u64,
    /// What it remembers itself.
    remembered: u64,
    /// Where it was when it was last seen; 0 if that is not known.
    pub place: usize,
    pub size: u8,
    pub life: Life,
}

/// In another run, an object remembers something else.
impl PartialEq for Numbered {
    fn eq(&self, other: &Numbered) -> bool {
        (self.seen, self.init) == (other.seen, other.init)
    }
}

/// An object keeps the run and its number in one word.
const NUMBER_BITS: u32 = 24;
/// So does a value that must not be leaked.
const BORN: u64 = 1 << 63;

/// Empties a list without dropping what is in it.
fn forget<T>(list: &mut Vec<T>) {
    if !list.is_empty() {
        list.drain(..).for_each(std::mem::forget);
    }
}

impl Shared {
    /// No model yet.
    pub fn new() -> Shared {
        Shared {
            run: 0,
            mark: 0,
            config: Config::default(),
            left_out: LeftOut::default(),
            asked: 0,
            without_reason: FxHashMap::default(),
            weakened: FxHashSet::default(),
            bounded: false,
            reorders: false,
            beginnings: Vec::new(),
            rooms: FxHashMap::default(),
            per_thread: Vec::new(),
            met: Vec::new(),
            bodies: Vec::new(),
            unjoined: 0,
            live: FxHashMap::default(),
            next_live: 1,
            threads: Threads::new(),
            places: Places::new(),
            blocks: Installed::new(),
            virtuals: VirtualAddresses::default(),
            raw_arcs: FxHashMap::default(),
            lazies: Vec::new(),
            handed_over: 0,
            words: FxHashMap::default(),
            copies: Copies::default(),
            counts: Counts::default(),
            allocations: FxHashMap::default(),
            frees: Frees::default(),
            origins: FxHashMap::default(),
            parks: FxHashMap::default(),
            numbers: Vec::new(),
            borrows: Borrows::default(),
            repeated: 0,
            top: 0,
            spins: 0,
            awaits: Awaits::default(),
            tried: FxHashMap::default(),
            all_are_tried: false,
            spins_with_locks: false,
            unmarked: Unmarked::default(),
            retries: Retries::default(),
            tries_out: false,
            announced: Vec::with_capacity(16),
            restart: false,
            waits: Waits::default(),
            found: Waits::default(),
            endless: Endless::default(),
            once: false,
            for_ever: false,
            mismatches: 0,
            ended: 0,
            tracked: false,
            script: Script::default(),
            left: Left::default(),
            storage: selvedge_graph::Storage::default(),
        }
    }

    /// A model is about to run: nothing is left of the one before but memory that can be used again.
    pub fn begin_model(&mut self, config: Config, top: usize) {
        self.config = config;
        self.left_out = LeftOut::default();
        self.without_reason.clear();
        self.weakened.clear();
        self.next_live = 1;
        self.threads.new_model();
        self.places.new_model();
        self.virtuals.new_model();
        self.frees.new_model();
        self.origins.clear();
        self.parks.clear();
        self.top = top;
        self.spins = 0;
        self.awaits = Awaits::default();
        self.tried.clear();
        self.spins_with_locks = false;
        self.unmarked = Unmarked::default();
        self.retries = Retries::default();
        self.restart = false;
        (self.waits, self.found) = (Waits::default(), Waits::default());
        self.endless = Endless::default();
        self.mismatches = 0;
        self.blocks.leaked = 0;
        self.blocks.install();
    }

    /// A model has ended. What its last run has left behind is forgotten.
    pub fn end_model(&mut self) {
        self.new_run();
        self.blocks.uninstall();
    }

    /// Everything starts again. What the last run has left is forgotten, not dropped: its threads stand where they were
    /// abandoned, and destructors would perform operations.
    pub fn new_run(&mut self) {
        self.run = RUNS.fetch_add(2, Ordering::Relaxed);
        self.mark = self.run + 1;
        for thread in &mut self.per_thread {
            forget(&mut thread.locals);
        }
        self.per_thread.clear();
        forget(&mut self.lazies);
        self.handed_over = 0;
        self.words.clear();
        self.copies.clear();
        self.counts.clear();
        forget(&mut self.bodies);
        self.met.clear();
        self.raw_arcs.clear();
        self.allocations.clear();
        self.frees.new_run();
        self.unjoined = 0;
        self.live.clear();
        self.next_live = 1;
        self.numbers.clear();
        self.borrows.clear();
        self.places.new_run();
        self.virtuals.new_run();
        self.blocks.new_run();
    }

    /// What a thread has done.
    pub fn per_thread(&mut self, thread: ThreadId) -> &mut PerThread {
        if self.per_thread.len() <= thread.index() {
            self.per_thread.resize_with(thread.index() + 1, PerThread::default);
        }
        &mut self.per_thread[thread.index()]
    }

    /// What an object remembers that was met in this run under a number.
    fn remembered(&mut self, met: Met, what: &'static str, at: At) -> u64 {
        let number = self.numbers.len() as u64;
        assert!(number < 1 << NUMBER_BITS, "there are too many objects in one execution");
        let seen = Seen { addr: met.addr, outside: met.outside };
        let remembered = if met.outside { self.mark } else { self.run } << NUMBER_BITS | number;
        let (place, size, life) = (0, met.size, Life::default());
        self.numbers.push(Numbered { seen, init: met.init, remembered, place, size, life });
        self.met.push(met);
        self.origins.insert(met.addr, (what, at));
        remembered
    }

    /// The object that remembers this; none if it has not been met in this run.
    #[inline]
    pub fn recognise(&self, remembered: u64) -> Option<Seen> {
        let number = remembered & ((1 << NUMBER_BITS) - 1);
        self.numbers.get(number as usize).filter(|known| known.remembered == remembered).map(|known| known.seen)
    }

    /// The same if it was last seen at this place; 0 stands for any.
    #[inline]
    pub fn recognise_at(&self, remembered: u64, place: usize) -> Option<Seen> {
        let number = remembered & ((1 << NUMBER_BITS) - 1);
        let is_it = |known: &&Numbered| known.remembered == remembered && (known.place == place || place == 0);
        self.numbers.get(number as usize).filter(is_it).map(|known| known.seen)
    }

    /// What is known of the object that remembers this, if it was met in this run.
    pub fn numbered(&mut self, remembered: u64) -> Option<&mut Numbered> {
        let number = remembered & ((1 << NUMBER_BITS) - 1);
        self.numbers.get_mut(number as usize).filter(|known| known.remembered == remembered)
    }

    /// Whether nothing has become of a word in a block but that an object was met there, for the first time. It notes that, which
    /// tells nobody anything. (If another one was there before that was met, it has been overwritten.)
    pub fn was_met(&self, &(at, before, now): &(usize, &[u8], &[u8])) -> bool {
        self.is_met_there(at, word_of(now)) && self.recognise(word_of(before)).is_none()
    }

    /// Whether a word in a block is where an object that was met there notes that. Who meets it the next time, be it the first
    /// time, knows it by the same address.
    #[inline]
    pub fn is_met_there(&self, at: usize, word: u64) -> bool {
        word >> NUMBER_BITS >= FIRST_RUN
            && self
                .recognise(word)
                .is_some_and(|seen| self.places.is_known_by(at - REMEMBERED, seen.addr, &self.blocks))
    }

    /// Meets the object that lies at an address.
    pub fn meet(&mut self, place: usize, size: u8, init: u64, what: &'static str, at: At) -> u64 {
        let met = self.places.meet(place, size, init, &self.blocks);
        let remembered = self.remembered(met, what, at);
        self.is_seen_at(remembered, place);
        remembered
    }

    /// What was met at an address outside of the model in this run, if it has forgotten that: a model that another thread
    /// of the operating system explores meanwhile (tests run side by side) has met the same `static`, or it was met once more by
    /// a thread that was put back after that.
    pub fn meet_again(&self, place: usize, remembered: u64) -> Option<(u64, Seen)> {
        if remembered == 0 {
            return None;
        }
        let within = self.places.met_outside(place, &self.blocks)?;
        let number = self.numbers.iter().rposition(|known| within.contains(&known.seen.addr.0))?;
        Some((self.numbers[number].remembered, self.numbers[number].seen))
    }

    /// A thread makes an object that is known at once.
    pub fn make(&mut self, thread: ThreadId, size: u8, init: u64, what: &'static str, at: At) -> u64 {
        let made = &mut self.per_thread(thread).made;
        let n = *made;
        *made += 1;
        let met = self.places.make(thread, n, size, init, self.blocks.now);
        self.remembered(met, what, at)
    }

    /// One of the words of a channel, all of which are 0 at first; none if there are too many.
    pub fn channel_word(&mut self, channel: Addr, n: u64, what: &'static str, at: At) -> Option<Addr> {
        let (addr, is_new) = self.places.channel_word(channel, n)?;
        if is_new {
            self.origins.insert(addr, (what, at));
        }
        Some(addr)
    }

    /// A thread has allocated a block that is one object.
    pub fn allocate(&mut self, thread: ThreadId, block: usize, size: usize, at: At) -> Addr {
        let what = BLOCK;
        match self.places.allocate(block, &self.blocks) {
            Some(met) => {
                self.remembered(met, what, at);
                met.addr
            }
            // Blocks without bytes are not known to the allocator.
            None => {
                debug_assert_eq!(size, 0, "every other block is known");
                let number = self.make(thread, 8, 0, what, at);
                self.recognise(number).expect("it has just been made").addr
            }
        }
    }

    /// What the engine sees of a value that may be a pointer.
    pub fn virtual_of(&mut self, value: u64) -> u64 {
        self.virtuals.virtual_of(value, &self.blocks, &self.places)
    }

    /// The other way round.
    #[inline]
    pub fn real_of(&self, value: u64) -> u64 {
        self.virtuals.real_of(value, &self.places)
    }

    /// A value that must not be leaked is made; it is known by this number.
    pub fn born(&mut self, what: &'static str, at: At) -> u64 {
        let number = BORN | self.run << NUMBER_BITS | self.next_live;
        self.next_live += 1;
        self.live.insert(number, (what, at));
        number
    }

    /// It is dropped.
    pub fn died(&mut self, number: u64) {
        self.live.remove(&number);
    }

    /// Whether an operation of a thread gets no marks, as far as its place tells.
    #[inline]
    pub fn gets_no_marks(&mut self, thread: ThreadId, at: At) -> bool {
        let is_open = |own: &PerThread| own.open.is_some();
        !self.awaits.is_marked(at)
            && (self.retries.is_empty()
                || !self.per_thread.get(thread.index()).is_some_and(is_open) && !self.retries.is_load(at))
    }

    /// A thread comes to an operation: with the marks that it gets.
    pub fn comes_to(&mut self, thread: ThreadId, op: Op, at: At) -> Standing {
        let (op, own) = match op {
            Op::Access(access) => {
                let spins = self.awaits.marks(&access, at);
                let own = matches!(access.kind, AccessKind::Store { .. }) && self.places.is_of(access.addr, thread);
                (Op::Access(Access { spins, ..access }), own)
            }
            other => (other, false),
        };
        if self.retries.is_empty() {
            return Standing::Op(op);
        }
        self.per_thread(thread);
        self.retries.comes_to(&mut self.per_thread[thread.index()].open, op, at, own)
    }

    /// A word as it would be in any other run in which the same has happened.
    pub fn known_as(&self, word: u64) -> u64 {
        if let Some(seen) = self.recognise(word) {
            return seen.addr.0;
        }
        if word == self.run {
            return FIRST_RUN;
        }
        if word & BORN != 0 && (word & !BORN) >> NUMBER_BITS == self.run {
            return BORN | word & ((1 << NUMBER_BITS) - 1);
        }
        if word & !ADDRESS != 0 || !may_be_pointer(word) {
            return word;
        }
        match self.places.place(word as usize, &self.blocks).0 {
            Place::Outside { .. } => word,
            known => {
                let mut hasher = Number::default();
                known.hash(&mut hasher);
                hasher.finish()
            }
        }
    }

    /// A number for what memory looks like that the model has allocated, or has a copy of.
    pub fn memory(&self) -> u64 {
        self.blocks.fingerprint().wrapping_add(self.copies.fingerprint(Some))
    }

    /// A number for what has changed in the memory of the model since it had these contents, and for what objects are known
    /// by. That an object was met is no change.
    pub fn changes(&self, since: &[Vec<u64>]) -> u64 {
        let mut hasher = Number::default();
        let known_as = |word| self.recognise(word).is_none().then(|| self.known_as(word));
        hasher.write_u64(self.blocks.changes(since, known_as));
        hasher.write_u64(self.copies.fingerprint(known_as));
        for (n, thread) in self.per_thread.iter().enumerate() {
            // Whether it is scoped is so from its start on, and what it drops is in its list.
            let PerThread {
                made,
                children,
                timeouts,
                spurious,
                deferred,
                locals,
                open: _,
                is_scoped: _,
                drops_locals: _,
            } = thread;
            let noted = (*made, *children, *timeouts, *spurious, deferred.len(), locals.len());
            // It makes no difference from when on it is noted that there is nothing to note.
            if noted != (0, 0, 0, 0, 0, 0) {
                (n, noted).hash(&mut hasher);
            }
        }
        (self.unjoined, self.live.len(), self.raw_arcs.len()).hash(&mut hasher);
        (self.allocations.len(), self.lazies.len(), self.handed_over, self.borrows.len()).hash(&mut hasher);
        hasher.finish()
    }

    /// Something was found that threads do which wait; whether that is news, so that everything starts again.
    pub fn finds(&mut self, what: Waits) -> bool {
        let known = self.found.and(what);
        let news = known != std::mem::replace(&mut self.found, known);
        self.restart |= news;
        news
    }

    /// An exploration starts: it makes use of what was found in those before.
    pub fn start(&mut self) {
        self.waits = self.found;
        self.frees.start();
        self.retries.start();
        if self.waits.allocate {
            // What other runs have left on the stacks of others could be taken for pointers (`machine/churn.rs`).
            self.spins = self.spins.max(DEEP);
        }
    }

    /// References to a value are counted in the block that it is in.
    pub fn notes_count(&mut self, value: usize) {
        if self.counts.on
            && let Some(block) = self.blocks.find(value)
        {
            self.counts.note(block.at, value);
        }
    }

    /// No execution has come to its end, since threads were cut off: whether they can be left to go on for longer.
    pub fn has_more_patience(&mut self) -> bool {
        let has_more = self.left_out.endless && self.endless.takes_longer();
        if has_more {
            self.left_out = LeftOut::default();
        }
        has_more
    }

    /// A loop that waits begins anew with an operation. Whether that is news which makes a difference: preemptions are counted.
    pub fn begins_anew(&mut self, at: At) -> bool {
        let news = self.bounded && !self.is_beginning(at);
        if news {
            self.beginnings.push(at);
            self.restart = true;
        }
        news
    }

    /// Whether loops that wait begin with an operation.
    pub fn is_beginning(&self, at: At) -> bool {
        self.beginnings.iter().any(|&other| std::ptr::eq(other, at) || *other == *at)
    }

    /// Whether a thread that waits with an exchange need not be asked whether that fails for no reason: it is tried out that it
    /// makes no difference.
    pub fn waits_weakly(&self, at: At) -> bool {
        self.retries.on && self.retries.is_weak(at) && self.awaits.need_not_choose(at)
    }

    /// Whether looks at a place may come back in another state.
    pub fn may_differ(&self, at: At) -> bool {
        self.awaits.may_differ(at) || self.waits_weakly(at)
    }

    /// The same, or none has come back yet.
    pub fn may_come_to_differ(&self, at: At) -> bool {
        self.awaits.may_come_to_differ(at) || self.waits_weakly(at)
    }

    /// Whether threads look into blocks on the way to an exchange that others free, and this is news: the exchange is given up.
    pub fn looks_into_freed(&mut self) -> bool {
        let freed = self.blocks.freed_early.as_ref();
        freed.is_some_and(|freed| self.retries.give_up_freed(freed))
    }

    /// Whether stacks have not been cleared as far as they are about to be looked at. Then everything starts again.
    pub fn must_clear(&mut self, size: usize) -> bool {
        #[cfg(test)]
        if crate::interrupted::is_now() {
            self.restart = true;
            return true;
        }
        if size <= self.spins {
            return false;
        }
        // Threads are suspended with operations a bit deeper than where they yield. Where frames are large, there are others that
        // are larger still, of calls that come late: then all that was explored until then would have to be explored again.
        let more = if size < LARGE { 384 } else { size };
        self.spins = (size + more).next_power_of_two();
        self.restart = true;
        true
    }
}

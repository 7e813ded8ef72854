//! Execution graphs (Definition 2): events in the order in which they were added, reads-from, coherence.
//!
//! A graph changes at its newest end only: events are added, and cut off again. What changes elsewhere, a read that is
//! read again in place, is kept in a list of changes and taken back by the cut. A backward revisit leaves a part of a graph
//! ([`Graph::restrict`]).

use crate::clocks::{self, Clocks, HB, PORF};
use crate::event::{BOTTOM, Event, EventId, Kind, LocId, NONE, Turn};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::ThreadId;
use smallvec::SmallVec;

mod add;
mod cut;
mod location;
mod restrict;

pub use location::Location;
use location::Reader;

/// A read before it was read again in place.
#[derive(Clone, Copy, Debug)]
struct Change {
    read: EventId,
    before: Event,
}

/// An execution graph.
#[derive(Clone, Default, Debug)]
pub struct Graph {
    events: Vec<Event>,
    /// Clocks of the events.
    pub clocks: Clocks,
    threads: Vec<Vec<EventId>>,
    /// Which event created each thread.
    births: Vec<EventId>,
    locations: Vec<Location>,
    changes: Vec<Change>,
    /// How many events are `seq_cst`.
    seq_cst: usize,
    /// How many reads are blocked.
    blocked: usize,
    /// Which threads may have speculative reads, as bits; the last one stands for all threads from there on.
    speculating: u64,
    /// Whether there may be a read whose write has to come next, or an access of which a part has.
    pub may_be_open: bool,
    /// Whether nobody asks for the numbers of what comes before events (`past.rs`).
    pub without_past: bool,
    /// Whether a notification of a condition variable does not happen before the end of the wait that it ends.
    pub silent_wakes: bool,
    /// Whether the next event is one before which its thread may let others go first.
    pub yields: bool,
    /// The events that the machine has to execute to be where the threads of this graph are, in an order in which
    /// writes come before the reads that read from them. A read-modify-write is there once, as its write.
    pub executed: Vec<EventId>,
}

impl Graph {
    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// How many events are `seq_cst`.
    #[inline]
    pub fn seq_cst_events(&self) -> usize {
        self.seq_cst
    }

    /// How many reads are blocked.
    #[inline]
    pub fn blocked_reads(&self) -> usize {
        debug_assert_eq!(self.blocked, self.events.iter().filter(|event| event.blocked).count(), "all are counted");
        self.blocked
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All events, oldest first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EventId> + use<> {
        (0..self.events.len()).map(EventId::new)
    }

    /// An event.
    #[inline]
    pub fn event(&self, e: EventId) -> &Event {
        &self.events[e.index()]
    }

    /// A location.
    #[inline]
    pub fn location(&self, loc: LocId) -> &Location {
        &self.locations[loc.index()]
    }

    /// All locations.
    pub fn locations(&self) -> impl Iterator<Item = LocId> + use<> {
        (0..self.locations.len()).map(LocId::new)
    }

    /// The events of a thread in program order.
    #[inline]
    pub fn thread(&self, thread: ThreadId) -> &[EventId] {
        self.threads.get(thread.index()).map_or(&[], |events| events)
    }

    /// Thread numbers in use are below this.
    #[inline]
    pub fn thread_limit(&self) -> usize {
        self.threads.len()
    }

    /// The last event of a thread.
    #[inline]
    pub fn last(&self, thread: ThreadId) -> Option<EventId> {
        self.thread(thread).last().copied()
    }

    /// The event that created a thread.
    #[inline]
    pub fn birth(&self, thread: ThreadId) -> Option<EventId> {
        self.births.get(thread.index()).copied().filter(|birth| birth.is_event())
    }

    /// Whether `first` comes before `then` in program order and reads-from, or is it.
    #[inline]
    pub fn porf(&self, first: EventId, then: EventId) -> bool {
        self.clocks.before(PORF, self.event(first), then)
    }

    /// How many events of each thread would come before a read in program order and reads-from (or are it) if it read from
    /// a write.
    pub fn porf_if(&self, read: EventId, write: EventId) -> SmallVec<[u32; 8]> {
        let event = self.event(read);
        let row = |e: EventId| self.clocks.row(e, PORF);
        let mut counts = match event.pred.is_event() {
            true => SmallVec::from_slice(row(event.pred)),
            false => SmallVec::from_elem(0, row(read).len()),
        };
        counts[event.thread.index()] = event.index;
        if write.is_event() {
            counts.iter_mut().zip(row(write)).for_each(|(mine, &theirs)| *mine = theirs.max(*mine));
        }
        counts
    }

    /// Whether `first` happens before `then`, or is it.
    #[inline]
    pub fn hb(&self, first: EventId, then: EventId) -> bool {
        self.clocks.before(HB, self.event(first), then)
    }

    /// The place in the coherence order that a read reads from, or a write stands at.
    #[inline]
    pub fn position(&self, e: EventId) -> u32 {
        let event = self.event(e);
        match event.kind {
            Kind::Write => event.co,
            _ => self.position_of(event.rf),
        }
    }

    /// The place of a write in the coherence order.
    #[inline]
    pub fn position_of(&self, write: EventId) -> u32 {
        if write.is_event() { self.event(write).co } else { 0 }
    }

    /// The coherence-last place of a location.
    #[inline]
    pub fn newest(&self, loc: LocId) -> u32 {
        self.locations[loc.index()].co.len() as u32
    }

    /// The value of a write.
    #[inline]
    pub fn written(&self, loc: LocId, write: EventId) -> u64 {
        if write.is_event() { self.event(write).value } else { self.locations[loc.index()].init }
    }

    /// Whether a read is an exclusive one whose write is missing yet.
    #[inline]
    pub fn awaits_write(&self, e: EventId) -> bool {
        let event = self.event(e);
        event.is_read() && event.exclusive && !event.blocked && self.last(event.thread) == Some(e)
    }

    /// The turn that a thread has taken, if it has done nothing but read since, be it until something went wrong.
    #[inline]
    pub fn open_turn(&self, thread: ThreadId) -> EventId {
        self.last(thread).map_or(NONE, |last| self.event(last).open)
    }

    /// How many parts of the access that a thread is at have been added.
    #[inline]
    pub fn parts_done(&self, thread: ThreadId) -> u8 {
        let last = self.last(thread).map(|last| self.event(last));
        last.and_then(|last| last.part).filter(|part| part.more).map_or(0, |part| part.before + 1)
    }

    /// The parts of an access to several locations up to this one, oldest first; of any other access it is just that.
    pub fn parts_of(&self, e: EventId) -> &[EventId] {
        let event = self.event(e);
        let (end, before) = (event.index as usize, event.part.map_or(0, |part| part.before));
        &self.thread(event.thread)[end - 1 - usize::from(before)..end]
    }

    /// The newest part of the access that an event is part of.
    pub fn newest_part(&self, e: EventId) -> EventId {
        let event = self.event(e);
        let rest = &self.thread(event.thread)[event.index as usize - 1..];
        let last = rest.iter().position(|&x| !self.event(x).is_unfinished());
        last.map_or(rest[rest.len() - 1], |n| rest[n])
    }

    /// The exclusive write that belongs to an exclusive read.
    pub fn write_of(&self, read: EventId) -> Option<EventId> {
        let event = self.event(read);
        let next = self.thread(event.thread).get(event.index as usize).copied()?;
        (event.exclusive && event.is_read()).then_some(next)
    }

    /// The exclusive write that reads from a write (or from the initial value), if there is one.
    #[inline]
    pub fn successor_rmw(&self, loc: LocId, position: u32) -> Option<EventId> {
        let next = *self.locations[loc.index()].co.get(position as usize)?;
        let event = self.event(next);
        (event.exclusive && self.position(event.pred) == position).then_some(next)
    }

    /// Whether some event accesses a location.
    #[inline]
    pub fn knows(&self, loc: LocId) -> bool {
        self.locations.get(loc.index()).is_some_and(|location| !location.is_unused())
    }

    /// Makes a location known with its initial value, if nothing accesses it yet.
    #[inline]
    pub fn touch(&mut self, loc: LocId, init: impl FnOnce() -> (u64, bool)) {
        if !self.knows(loc) {
            self.meet(loc, init());
        }
    }

    fn meet(&mut self, loc: LocId, (init, uninitialised): (u64, bool)) {
        if self.locations.len() <= loc.index() {
            self.locations.resize_with(loc.index() + 1, Location::default);
        }
        let location = &mut self.locations[loc.index()];
        (location.init, location.uninitialised) = (init, uninitialised);
    }

    /// What comes before the next event of a thread: its last one, or its creation.
    #[inline]
    pub fn before_next(&self, thread: ThreadId) -> EventId {
        self.last(thread).or(self.birth(thread)).unwrap_or(NONE)
    }

    /// Whether there are reads that a write, the newest event, does not depend on: others it cannot revisit.
    #[inline(always)]
    pub fn has_other_reads(&mut self, write: EventId) -> bool {
        let clock = self.clocks.row(write, PORF);
        let location = &mut self.locations[self.events[write.index()].loc.index()];
        let known = location.settled.filter(|(by, _)| {
            let event = &self.events[by.index()];
            clock[event.thread.index()] >= event.index
        });
        let known = known.map_or(0, |(_, reads)| reads as usize);
        let is_other = |reader: &Reader| clock[reader.thread.index()] < reader.index;
        debug_assert!(!location.reads[..known].iter().any(is_other), "what comes before a write stays before it");
        let other = location.reads[known..].iter().position(is_other);
        location.settled = Some((write, other.map_or(location.reads.len(), |n| known + n) as u32));
        other.is_some()
    }

    /// Makes a write write something else.
    pub fn set_written(&mut self, write: EventId, value: u64, choice: u64) {
        let event = &mut self.events[write.index()];
        event.value = value;
        event.choice = choice as u32;
        self.refresh(write);
    }

    /// Makes a read that nothing follows read from another write.
    pub fn set_rf(&mut self, read: EventId, write: EventId) {
        self.events[read.index()].base = write;
        self.change_rf(read, write);
    }

    fn change_rf(&mut self, read: EventId, write: EventId) {
        let loc = self.event(read).loc;
        let value = if write == BOTTOM { 0 } else { self.written(loc, write) };
        let event = &mut self.events[read.index()];
        event.rf = write;
        event.primary = NONE;
        event.value = value;
        self.refresh(read);
    }

    /// Makes a speculative read that nothing follows read from an older write of the same value, while its confirmation
    /// is to read from the present one; a cut takes it back.
    pub fn read_older(&mut self, read: EventId, older: EventId) {
        let before = self.events[read.index()];
        self.changes.push(Change { read, before });
        self.change_rf(read, older);
        debug_assert_eq!(self.event(read).value, before.value, "both have written the same value");
        self.events[read.index()].primary = before.rf;
    }

    /// Makes a blocked read that nothing follows read from another write; a cut takes it back.
    pub fn reread(&mut self, read: EventId, write: EventId) {
        self.changes.push(Change { read, before: self.events[read.index()] });
        self.change_rf(read, write);
    }

    /// Makes a speculative read wait for the confirmation of another one.
    pub fn wait_for(&mut self, read: EventId, other: EventId) {
        self.change_rf(read, BOTTOM);
        let event = &mut self.events[read.index()];
        event.base = other;
        self.blocked += usize::from(!event.blocked);
        event.blocked = true;
    }

    /// Says whether a read is speculative.
    #[inline]
    pub fn set_speculative(&mut self, read: EventId, speculative: bool) {
        let event = &mut self.events[read.index()];
        event.speculative = speculative;
        self.speculating |= u64::from(speculative) << bit_of(event.thread);
    }

    /// Whether a thread may have speculative reads.
    #[inline]
    pub fn may_speculate(&self, thread: ThreadId) -> bool {
        self.speculating >> bit_of(thread) & 1 == 1
    }

    /// The flags of an event that depend on what it reads.
    #[inline]
    pub fn set_flags(&mut self, e: EventId, exclusive: bool, blocked: bool, order: Order) {
        let event = &mut self.events[e.index()];
        event.exclusive = exclusive;
        self.may_be_open |= exclusive && event.is_read();
        self.locations[event.loc.index()].loads |= !exclusive && !blocked;
        self.blocked = self.blocked + usize::from(blocked) - usize::from(event.blocked);
        event.blocked = blocked;
        if event.order != order {
            self.seq_cst -= usize::from(event.order == Order::SeqCst);
            self.seq_cst += usize::from(order == Order::SeqCst);
            event.order = order;
            self.refresh(e);
        }
    }

    /// The number that a `Choose` chooses.
    pub fn set_choice(&mut self, e: EventId, choice: u64) {
        self.events[e.index()].value = choice;
        self.refresh(e);
    }

    /// What becomes of a composite await, and numbers that go with it.
    pub fn set_turn(&mut self, e: EventId, turn: Turn, (number, other): (u64, u64)) {
        let event = &mut self.events[e.index()];
        event.turn = turn;
        event.open = if turn.is_put_off() { NONE } else { e };
        event.value = number;
        event.choice = other as u32;
    }

    /// The number of the ways on which news can come to an attempt that was put off.
    pub fn set_ways(&mut self, e: EventId, number: u32) {
        self.events[e.index()].co = number;
    }

    /// The attempts that were put off, with those numbers.
    pub fn put_off(&mut self) -> impl Iterator<Item = &mut u32> {
        let later = |event: &&mut Event| event.kind == Kind::Turn && event.turn == Turn::Later;
        self.events.iter_mut().filter(later).map(|event| &mut event.co)
    }

    /// Moves the newest event, a write, to another place in coherence order.
    pub fn place(&mut self, write: EventId, position: u32) {
        let Event { loc, co, .. } = self.events[write.index()];
        if co == position {
            return;
        }
        self.unplace(loc, co);
        self.locations[loc.index()].co.insert(position as usize - 1, write);
        self.number(loc, position);
    }

    /// Takes the write at a place out of the coherence order.
    #[inline]
    fn unplace(&mut self, loc: LocId, position: u32) {
        let location = &mut self.locations[loc.index()];
        let co = &mut location.co;
        let write = co[position as usize - 1];
        location.settled.take_if(|(by, _)| *by == write);
        if co.len() == position as usize {
            co.pop();
            return;
        }
        co.remove(position as usize - 1);
        self.number(loc, position);
    }

    /// Numbers the writes of a location from this place on.
    fn number(&mut self, loc: LocId, from: u32) {
        let co = &self.locations[loc.index()].co;
        for (n, w) in co.iter().enumerate().skip(from as usize - 1) {
            self.events[w.index()].co = n as u32 + 1;
        }
    }

    /// Gives locations other numbers.
    pub fn rename_locations(&mut self, names: &[LocId]) {
        let mut locations = Vec::new();
        locations.resize_with(names.iter().map(|name| name.index() + 1).max().unwrap_or(0), Location::default);
        for (location, name) in self.locations.drain(..).zip(names) {
            locations[name.index()] = location;
        }
        self.locations = locations;
        let changed = self.changes.iter_mut().map(|change| &mut change.before);
        for event in self.events.iter_mut().chain(changed).filter(|event| event.is_access()) {
            event.loc = names[event.loc.index()];
        }
    }

    /// Gives the sets of locations that turns refer to other numbers.
    pub fn renumber_turns(&mut self, numbers: &[u64]) {
        let waits = |event: &&mut Event| event.kind == Kind::Turn && matches!(event.turn, Turn::Waits | Turn::Later);
        for event in self.events.iter_mut().filter(waits) {
            event.value = numbers[event.value as usize];
            event.choice = numbers[event.choice as usize] as u32;
        }
    }

    /// Forgets all events and how wide the graph was: what is left is a little memory for a graph of another program.
    pub fn reset(&mut self) {
        self.clear();
        (self.without_past, self.silent_wakes) = (false, false);
        self.clocks.reset();
        self.threads.truncate(clocks::NARROW);
        self.births.truncate(clocks::NARROW);
        self.locations.truncate(16);
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        self.events.clear();
        self.seq_cst = 0;
        self.blocked = 0;
        self.speculating = 0;
        self.clocks.clear();
        self.threads.iter_mut().for_each(Vec::clear);
        self.births.fill(NONE);
        self.changes.clear();
        self.executed.clear();
        self.locations.iter_mut().for_each(Location::clear);
    }
}

/// The bit of a thread among those that may have speculative reads.
#[inline]
fn bit_of(thread: ThreadId) -> usize {
    thread.index().min(63)
}

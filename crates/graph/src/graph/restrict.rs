//! The part of a graph that a backward revisit keeps (Algorithm 2, line 5).
//!
//! A revisit is made for nearly every execution. What it keeps is most of the graph, and the events up to the read keep their
//! numbers, clocks and places in lists: so the graph becomes that part in place, and what is left to do is what comes after the
//! read. If the whole graph is still needed, it is copied before, list by list.

use super::location::Reader;
use super::{Graph, Location};
use crate::clocks::PORF;
use crate::event::{BOTTOM, Event, EventId, INIT, Kind, NONE};
use selvedge_ir::{EntityRef, Order};
use smallvec::SmallVec;

impl Graph {
    /// Makes this graph the part of it that a revisit of `read` by `write`, the newest event, keeps, in the same order: what was
    /// added before `read`, and what comes before `write` in program order and reads-from. The part is closed under
    /// program order and reads-from, except for the source of `read`, which is set by the caller, and the sources of
    /// reads that were read again in place. These go back to waiting: they read from the coherence-last write that is
    /// left, and `waiting` becomes the list of them. `read` and `write` are left out of the list of executed events.
    /// `names` becomes the numbers that the events have in the part. Returns how many of the first executed events are the
    /// same as before.
    pub fn restrict(
        &mut self,
        (read, write): (EventId, EventId),
        names: &mut Vec<EventId>,
        waiting: &mut Vec<EventId>,
    ) -> usize {
        debug_assert_eq!(write.index() + 1, self.events.len(), "what comes after the write has been cut off");
        let first = read.index() + 1;
        self.keep(first, write, names);
        self.rename_lists(first, names);
        self.rename_sources(first, names, waiting);
        let common = self.drop_executed((read, write), names, waiting);
        for &r in waiting.iter() {
            let location = &self.locations[self.events[r.index()].loc.index()];
            // The write that revisits comes later.
            let last = location.co.iter().rev().copied().find(|&w| w != names[write.index()]);
            let base = self.events[r.index()].base;
            let speculative = base.is_event() && self.events[base.index()].is_read();
            self.change_rf(r, if speculative { BOTTOM } else { last.unwrap_or(INIT) });
        }
        self.events[names[write.index()].index()].executed = self.executed.len() as u32;
        self.may_be_open = true;
        common
    }

    /// Keeps the first events and what comes before `write`, with their clocks, and gives them the numbers that they have in the
    /// part. Nothing is cut off any more of what is older than the write that revisits.
    fn keep(&mut self, first: usize, write: EventId, names: &mut Vec<EventId>) {
        names.clear();
        names.extend((0..first).map(EventId::new));
        let kept: SmallVec<[u32; 8]> = SmallVec::from_slice(self.clocks.row(write, PORF));
        let mut next = first;
        for n in first..self.events.len() {
            let event = &mut self.events[n];
            let list = &mut self.threads[event.thread.index()];
            if kept[event.thread.index()] < event.index {
                // What comes before an event in its thread stays with it, and what comes after it does not stay without it.
                list.truncate(event.index as usize - 1);
                self.seq_cst -= usize::from(event.order == Order::SeqCst);
                self.blocked -= usize::from(event.blocked);
                names.push(NONE);
                continue;
            }
            let name = EventId::new(next);
            names.push(name);
            next += 1;
            (event.executed, event.changes) = (0, 0);
            if name.index() == n {
                continue;
            }
            list[event.index as usize - 1] = name;
            // These are older.
            let renamed = |e: EventId| if is_among(e, first) { names[e.index()] } else { e };
            let (pred, open, fence) = (renamed(event.pred), renamed(event.open), renamed(event.fence));
            self.events[name.index()] = Event { pred, open, fence, ..*event };
            self.clocks.rename(EventId::new(n), name);
        }
        self.events.truncate(next);
        self.clocks.truncate(next);
        self.changes.clear();
    }

    /// The lists of those events that have names, except for those of threads. They are in the same order.
    fn rename_lists(&mut self, first: usize, names: &[EventId]) {
        for birth in &mut self.births {
            if is_among(*birth, first) {
                *birth = names[birth.index()];
            }
        }
        for location in self.locations.iter_mut().filter(|location| !location.is_unused()) {
            location.settled = None;
            let from = location.reads.iter().rposition(|reader| reader.read.index() < first).map_or(0, |n| n + 1);
            let mut next = from;
            for n in from..location.reads.len() {
                let reader = location.reads[n];
                let name = names[reader.read.index()];
                if name != NONE {
                    location.reads[next] = Reader { read: name, ..reader };
                    next += 1;
                }
            }
            location.reads.truncate(next);
            // A write may have been placed before older ones.
            let Some(from) = location.co.iter().position(|w| w.index() >= first) else { continue };
            let all = location.co.len();
            keep_named(&mut location.co, from, names);
            if location.co.len() < all {
                for (n, w) in location.co.iter().enumerate().skip(from) {
                    self.events[w.index()].co = n as u32 + 1;
                }
            }
        }
    }

    /// Reads read from writes by their new names. A read that was revisited reads from a write that was added later.
    fn rename_sources(&mut self, first: usize, names: &[EventId], waiting: &mut Vec<EventId>) {
        waiting.clear();
        let is_renamed = |e: EventId| is_among(e, first);
        let renamed = |e: EventId| if is_renamed(e) { names[e.index()] } else { e };
        for (n, event) in self.events.iter_mut().enumerate() {
            if event.kind != Kind::Read {
                continue;
            }
            if !(is_renamed(event.rf) || is_renamed(event.base) || is_renamed(event.primary)) {
                continue;
            }
            event.base = renamed(event.base);
            let is_settled = event.primary.is_event();
            event.primary = renamed(event.primary);
            debug_assert_eq!(is_settled, event.primary.is_event(), "what a confirmation must read from stays");
            let source = renamed(event.rf);
            if source == NONE && n + 1 != first {
                debug_assert!(event.base != NONE, "only reads that were read again in place lose their source");
                self.blocked += usize::from(!event.blocked);
                event.blocked = true;
                waiting.push(EventId::new(n));
            }
            event.rf = source;
        }
    }

    /// The list of executed events, without what waits again. Returns how many of the first are the same as before.
    fn drop_executed(&mut self, (read, write): (EventId, EventId), names: &[EventId], waiting: &[EventId]) -> usize {
        // What is older than `read` keeps its name, and is kept unless it has to wait again.
        let is_older = |e: &&EventId| waiting.is_empty() && **e < read;
        let older = self.executed.iter().take_while(is_older).count();
        let (mut next, mut common) = (older, None);
        for n in older..self.executed.len() {
            let e = self.executed[n];
            let name = names[e.index()];
            if e != read && e != write && name != NONE && (waiting.is_empty() || !waiting.contains(&name)) {
                self.executed[next] = name;
                next += 1;
            } else {
                common = common.or(Some(n));
            }
        }
        self.executed.truncate(next);
        common.unwrap_or(next)
    }

    /// Makes this graph the same as another one, in the memory that it has.
    pub fn copy_from(&mut self, other: &Graph) {
        self.events.clone_from(&other.events);
        self.clocks.copy_from(&other.clocks);
        self.changes.clone_from(&other.changes);
        self.executed.clone_from(&other.executed);
        (self.seq_cst, self.blocked, self.speculating) = (other.seq_cst, other.blocked, other.speculating);
        (self.may_be_open, self.without_past, self.yields) = (other.may_be_open, other.without_past, other.yields);
        self.silent_wakes = other.silent_wakes;
        copy_lists(&mut self.threads, &other.threads, Vec::clone_from, Vec::clear);
        copy_lists(&mut self.locations, &other.locations, Location::copy_from, Location::clear);
        self.births.clear();
        self.births.extend_from_slice(&other.births);
        self.births.resize(self.threads.len(), NONE);
    }
}

/// Copies some lists into the memory of others. If there are more of these, they become empty.
fn copy_lists<T: Default>(mine: &mut Vec<T>, theirs: &[T], copy: impl Fn(&mut T, &T), clear: impl Fn(&mut T)) {
    if mine.len() < theirs.len() {
        mine.resize_with(theirs.len(), T::default);
    }
    let (same, others) = mine.split_at_mut(theirs.len());
    same.iter_mut().zip(theirs).for_each(|(mine, theirs)| copy(mine, theirs));
    others.iter_mut().for_each(clear);
}

/// Whether this is an event, and not among the first ones. (Numbers that stand for no event are the largest.)
#[inline]
fn is_among(e: EventId, first: usize) -> bool {
    e.index().wrapping_sub(first) < NONE.index() - first
}

/// Of the events of a list from a place on, keeps those that have names, by these.
#[inline]
fn keep_named(list: &mut Vec<EventId>, from: usize, names: &[EventId]) {
    let mut next = from;
    for n in from..list.len() {
        let name = names[list[n].index()];
        if name != NONE {
            list[next] = name;
            next += 1;
        }
    }
    list.truncate(next);
}

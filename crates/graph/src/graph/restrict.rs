//! The part of a graph that a backward revisit keeps, as a graph of its own (Algorithm 2, line 5).
//!
//! A revisit is made for nearly every execution, so what is copied is copied at once where it can be: the events up to the
//! read keep their numbers and clocks.

use super::{Graph, Location};
use crate::clocks::PORF;
use crate::event::{BOTTOM, Event, EventId, INIT, Kind, NONE};
use selvedge_ir::{EntityRef, Order};

impl Graph {
    /// Makes `into` the part of this graph that a revisit of `read` by `write` keeps, in the same order: what was added
    /// before `read`, and what comes before `write` in program order and reads-from. The part is closed under
    /// program order and reads-from, except for the source of `read`, which is set by the caller, and the sources of
    /// reads that were read again in place. These go back to waiting: they read from the coherence-last write that is
    /// left, and `waiting` becomes the list of them. `read` and `write` are left out of the list of executed events.
    /// `names` becomes the numbers that the events have in the copy. Returns how many of the first executed events are the
    /// same in both.
    pub fn restrict(
        &self,
        into: &mut Graph,
        (read, write): (EventId, EventId),
        names: &mut Vec<EventId>,
        waiting: &mut Vec<EventId>,
    ) -> usize {
        into.clear();
        (into.without_past, into.may_be_open) = (self.without_past, true);
        into.widen(self.threads.len());
        if into.locations.len() < self.locations.len() {
            into.locations.resize_with(self.locations.len(), Location::default);
        }
        let first = read.index() + 1;
        self.name_kept(first, write, names);
        self.copy_lists(into, first, names);
        into.events.extend_from_slice(&self.events[..first]);
        into.clocks.copy_first(&self.clocks, first);
        (into.seq_cst, into.blocked) = (self.seq_cst, self.blocked);
        // The first events keep their names. A read that was revisited reads from a write that was added later. (Numbers
        // that stand for no event are the largest.)
        let is_renamed = |e: EventId| e.index().wrapping_sub(first) < NONE.index() - first;
        let renamed = |e: EventId| if is_renamed(e) { names[e.index()] } else { e };
        for (n, event) in self.events.iter().enumerate().skip(first) {
            if names[n] == NONE {
                into.seq_cst -= usize::from(event.order == Order::SeqCst);
                into.blocked -= usize::from(event.blocked);
                continue;
            }
            into.clocks.copy(&self.clocks, EventId::new(n));
            let (pred, open, fence) = (renamed(event.pred), renamed(event.open), renamed(event.fence));
            // Nothing is cut off any more of what is older than `write`.
            into.events.push(Event { pred, open, fence, executed: 0, changes: 0, ..*event });
        }
        waiting.clear();
        for (n, event) in into.events.iter_mut().enumerate() {
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
                into.blocked += usize::from(!event.blocked);
                event.blocked = true;
                waiting.push(EventId::new(n));
            }
            event.rf = source;
        }
        for (location, whole) in into.locations.iter().zip(&self.locations) {
            // If nothing was left out, all writes are where they were.
            if location.co.len() < whole.co.len() {
                for (w, n) in location.co.iter().zip(1..) {
                    into.events[w.index()].co = n;
                }
            }
        }
        let keeps = |e: EventId, name: EventId| {
            e != read && e != write && name != NONE && (waiting.is_empty() || !waiting.contains(&name))
        };
        // What is older than `read` keeps its name, and is kept unless it has to wait again.
        let is_older = |e: &&EventId| waiting.is_empty() && **e < read;
        let older = self.executed.iter().take_while(is_older).count();
        let kept = self.executed[older..].iter().take_while(|&&e| keeps(e, names[e.index()])).count();
        let common = older + kept;
        into.executed.extend_from_slice(&self.executed[..older]);
        let (same, others) = self.executed[older..].split_at(kept);
        into.executed.extend(same.iter().map(|e| names[e.index()]));
        into.executed.extend(others.iter().filter(|&&e| keeps(e, names[e.index()])).map(|e| names[e.index()]));
        for &r in waiting.iter() {
            let location = &into.locations[into.events[r.index()].loc.index()];
            // The write that revisits comes later.
            let last = location.co.iter().rev().copied().find(|&w| w != names[write.index()]);
            let base = into.events[r.index()].base;
            let speculative = base.is_event() && into.events[base.index()].is_read();
            into.change_rf(r, if speculative { BOTTOM } else { last.unwrap_or(INIT) });
        }
        into.events[names[write.index()].index()].executed = into.executed.len() as u32;
        common
    }

    /// Gives the events that a revisit by `write` keeps the numbers that they have in the copy: the first `count`, and what
    /// comes before `write`.
    fn name_kept(&self, count: usize, write: EventId, names: &mut Vec<EventId>) {
        names.clear();
        names.extend((0..count).map(EventId::new));
        let kept = self.clocks.row(write, PORF);
        let mut next = count;
        names.extend(self.events[count..].iter().map(|event| {
            if kept[event.thread.index()] < event.index {
                return NONE;
            }
            next += 1;
            EventId::new(next - 1)
        }));
    }

    /// Gives a copy, whose lists are empty, the lists of those events that are in it. They are in the same order.
    fn copy_lists(&self, into: &mut Graph, first: usize, names: &[EventId]) {
        for (mine, theirs) in into.threads.iter_mut().zip(&self.threads) {
            // What comes before an event in its thread stays with it.
            let rest = copy_first(mine, theirs, first);
            mine.extend(rest.iter().map(|e| names[e.index()]).take_while(|&name| name != NONE));
        }
        for (mine, &theirs) in into.births.iter_mut().zip(&self.births) {
            *mine = if theirs.is_event() { names[theirs.index()] } else { NONE };
        }
        for (mine, theirs) in into.locations.iter_mut().zip(&self.locations) {
            (mine.init, mine.uninitialised) = (theirs.init, theirs.uninitialised);
            if theirs.is_unused() {
                continue;
            }
            let rest = copy_first(&mut mine.reads, &theirs.reads, first);
            let (readers, others) = theirs.readers.split_at(theirs.readers.len() - rest.len());
            mine.readers.extend_from_slice(readers);
            for (r, &reader) in rest.iter().zip(others) {
                let name = names[r.index()];
                if name != NONE {
                    mine.reads.push(name);
                    mine.readers.push(reader);
                }
            }
            match theirs.co.iter().all(|e| e.index() < first) {
                true => mine.co.extend_from_slice(&theirs.co),
                false => mine.co.extend(theirs.co.iter().map(|e| names[e.index()]).filter(|&name| name != NONE)),
            }
        }
    }
}

/// Copies those events of a list, oldest first, that are among the first ones of their graph; returns the others.
fn copy_first<'a>(mine: &mut Vec<EventId>, theirs: &'a [EventId], first: usize) -> &'a [EventId] {
    let newer = theirs.iter().rev().take_while(|e| e.index() >= first).count();
    let (old, new) = theirs.split_at(theirs.len() - newer);
    mine.extend_from_slice(old);
    new
}

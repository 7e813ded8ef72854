//! The part of a graph that a backward revisit keeps, as a graph of its own (Algorithm 2, line 5).
//!
//! A revisit is made for nearly every execution, so what is copied is copied at once where it can be: the events up to the
//! read keep their numbers and clocks.

use super::{Graph, Location};
use crate::clocks::PORF;
use crate::event::{BOTTOM, EventId, INIT, NONE};
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
        into.widen(self.threads.len());
        if into.locations.len() < self.locations.len() {
            into.locations.resize_with(self.locations.len(), Location::default);
        }
        let first = read.index() + 1;
        self.name_kept(first, write, names);
        self.copy_lists(into, names);
        into.events.extend_from_slice(&self.events[..first]);
        into.clocks.copy_first(&self.clocks, first);
        for (e, event) in self.ids().zip(&self.events).skip(first) {
            if names[e.index()] != NONE {
                into.clocks.copy(&self.clocks, e);
                into.events.push(*event);
            }
        }
        // The first events keep their names. A read that was revisited reads from a write that was added later.
        let renamed = |e: EventId| if e.index() < first || !e.is_event() { e } else { names[e.index()] };
        waiting.clear();
        for (n, event) in into.events.iter_mut().enumerate() {
            (event.executed, event.changes) = (0, 0);
            into.seq_cst += usize::from(event.order == Order::SeqCst);
            into.blocked += usize::from(event.blocked);
            if n >= first {
                event.pred = renamed(event.pred);
                event.open = renamed(event.open);
            }
            if !event.is_read() {
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
        for location in &into.locations {
            for (w, n) in location.co.iter().zip(1..) {
                into.events[w.index()].co = n;
            }
        }
        let kept = self.executed.iter().filter(|&&e| e != read && e != write).map(|e| names[e.index()]);
        into.executed.extend(kept.filter(|&e| e != NONE && (waiting.is_empty() || !waiting.contains(&e))));
        for &r in waiting.iter() {
            let location = &into.locations[into.events[r.index()].loc.index()];
            // The write that revisits comes later.
            let last = location.co.iter().rev().copied().find(|&w| w != names[write.index()]);
            let base = into.events[r.index()].base;
            let speculative = base.is_event() && into.events[base.index()].is_read();
            into.change_rf(r, if speculative { BOTTOM } else { last.unwrap_or(INIT) });
        }
        into.events[names[write.index()].index()].executed = into.executed.len() as u32;
        let same = |(mine, theirs): &(&EventId, &EventId)| names[theirs.index()] == **mine;
        into.executed.iter().zip(&self.executed).take_while(same).count()
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
    fn copy_lists(&self, into: &mut Graph, names: &[EventId]) {
        for (mine, theirs) in into.threads.iter_mut().zip(&self.threads) {
            // What comes before an event in its thread stays with it.
            mine.extend(theirs.iter().map(|e| names[e.index()]).take_while(|&name| name != NONE));
        }
        for (mine, &theirs) in into.births.iter_mut().zip(&self.births) {
            *mine = if theirs.is_event() { names[theirs.index()] } else { NONE };
        }
        for (mine, theirs) in into.locations.iter_mut().zip(&self.locations) {
            (mine.init, mine.uninitialised) = (theirs.init, theirs.uninitialised);
            if theirs.is_unused() {
                continue;
            }
            for (r, &reader) in theirs.reads.iter().zip(&theirs.readers) {
                let name = names[r.index()];
                if name != NONE {
                    mine.reads.push(name);
                    mine.readers.push(reader);
                }
            }
            mine.co.extend(theirs.co.iter().map(|e| names[e.index()]).filter(|&name| name != NONE));
        }
    }
}

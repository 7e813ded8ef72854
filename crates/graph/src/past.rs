//! Numbers for what a thread has done and has learned from others.
//!
//! What a thread does next depends on what it has been told, and on memory that others have written before they told it.
//! (Memory that is not part of the graph is free of data races, or the program means nothing.) All of that is the part of
//! the graph that comes before its last event by program order and reads-from. So a machine that answers a question about
//! this thread for one graph has answered it for all graphs that have the same part, in whatever order it was added.
//!
//! An event gets a number for itself and all that comes before it, computed from what it does, what it reads or chooses,
//! and the numbers of the events that it follows directly. Two different parts may have the same number by chance: among
//! 2^16 of them, with a chance of 2^-33.

use crate::event::{Event, EventId, Kind, NONE};
use crate::graph::Graph;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;

/// The number of an event. `last` is the last event of the thread that a `Join` waits for, or the signal that woke a thread.
#[inline]
pub(crate) fn of(events: &[Event], event: &Event, last: EventId) -> u64 {
    let known = |x: EventId| if x.is_event() { events[x.index()].past } else { x.index() as u64 };
    if event.kind == Kind::Turn {
        // The machine does not know of turns.
        return known(event.pred);
    }
    let source = if event.is_read() { event.rf } else { NONE };
    let what = (event.thread.index() as u64) << 8 | event.kind as u64;
    let learned = known(source) ^ known(last).rotate_left(32);
    mix(mix(mix(known(event.pred), what), learned), event.value)
}

/// The number of all that comes before the next event of a thread, if `pred` is the last one, or has created it.
#[inline]
pub(crate) fn before_next(graph: &Graph, thread: ThreadId, pred: EventId) -> u64 {
    mix(if pred.is_event() { graph.event(pred).past } else { 0 }, thread.index() as u64)
}

/// Adds a word to a number that stands for all words before it.
#[inline]
fn mix(past: u64, word: u64) -> u64 {
    let product = u128::from(past.rotate_left(29) ^ word) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{INIT, LocId};

    /// Adds an access to one of two locations.
    fn access(graph: &mut Graph, thread: usize, kind: Kind, loc: usize, rf: EventId, value: u64) -> EventId {
        let loc = LocId::new(loc);
        graph.touch(loc, || (0, false));
        let draft = graph.draft(ThreadId::new(thread), kind);
        graph.add(Event { loc, rf, base: rf, value, ..draft })
    }

    fn past(graph: &Graph, thread: usize) -> u64 {
        let thread = ThreadId::new(thread);
        before_next(graph, thread, graph.before_next(thread))
    }

    #[test]
    fn the_order_in_which_events_were_added_does_not_count() {
        let [mut one, mut other] = [Graph::default(), Graph::default()];
        let w = access(&mut one, 0, Kind::Write, 0, NONE, 1);
        access(&mut one, 1, Kind::Write, 1, NONE, 2);
        access(&mut one, 1, Kind::Read, 0, w, 1);
        access(&mut other, 1, Kind::Write, 1, NONE, 2);
        let w = access(&mut other, 0, Kind::Write, 0, NONE, 1);
        access(&mut other, 1, Kind::Read, 0, w, 1);
        assert_eq!([past(&one, 0), past(&one, 1)], [past(&other, 0), past(&other, 1)]);
        assert_ne!(past(&one, 0), past(&one, 1));
    }

    #[test]
    fn what_a_writer_has_read_before_counts_even_if_the_value_is_the_same() {
        let [mut one, mut other] = [Graph::default(), Graph::default()];
        let flag = access(&mut one, 0, Kind::Write, 1, NONE, 5);
        access(&mut one, 1, Kind::Read, 1, flag, 5);
        let w = access(&mut one, 1, Kind::Write, 0, NONE, 1);
        let r = access(&mut one, 2, Kind::Read, 0, w, 1);
        access(&mut other, 1, Kind::Read, 1, INIT, 0);
        let same = access(&mut other, 1, Kind::Write, 0, NONE, 1);
        access(&mut other, 2, Kind::Read, 0, same, 1);
        assert_ne!(past(&one, 2), past(&other, 2));
        // A read that reads from another write is another one, and is the same again when it is taken back.
        let before = past(&one, 2);
        one.set_rf(r, INIT);
        assert_ne!(past(&one, 2), before);
        one.set_rf(r, w);
        assert_eq!(past(&one, 2), before);
    }

    #[test]
    fn a_revisit_keeps_the_numbers_of_what_it_keeps() {
        let mut graph = Graph::default();
        let r = access(&mut graph, 0, Kind::Read, 0, INIT, 0);
        access(&mut graph, 0, Kind::Write, 1, NONE, 7);
        access(&mut graph, 1, Kind::Read, 1, INIT, 0);
        let w = access(&mut graph, 1, Kind::Write, 0, NONE, 3);
        let before = past(&graph, 1);
        let (mut copy, mut names, mut waiting) = (graph.clone(), Vec::new(), Vec::new());
        copy.restrict((r, w), &mut names, &mut waiting);
        assert_eq!(copy.len(), 3);
        assert_eq!(past(&copy, 1), before);
        copy.set_rf(names[r.index()], names[w.index()]);
        assert_ne!(past(&copy, 0), past(&graph, 0));
    }
}

//! Memory models.
//!
//! An exploration adds one event at a time, always as the last of its thread, so a model has to answer two questions
//! only: from which place of the coherence order on may the event read, or be placed behind, given what comes before
//! it ([`Model::lower_bound`]); and is a graph consistent in all that this does not settle ([`Model::consistent`]).
//! Coherence and atomicity then hold by construction. An event that reads from, or is placed behind, the coherence-last
//! write has no edge to any older event, so it needs no check under any of the models.
//!
//! Each model's file states its axioms; [`crate::axioms`] has them once more as relations over whole graphs, for tests.

mod fence_reach;
pub mod psc;
pub mod ra;
pub mod rc11;
pub mod sc;
pub mod tso;

use crate::event::{Event, EventId, Kind, LocId, NONE};
use crate::graph::Graph;

/// A memory model that is porf-acyclic, prefix-closed and extensible.
pub trait Model {
    /// Whether po ∪ rf ∪ co has no cycle, so that a store may be treated as an exchange.
    const STORES_AS_EXCHANGES: bool = false;

    /// The first place of the coherence order of its location that a read may read from, or behind which a write may be
    /// placed. What the event reads from at present does not count.
    fn lower_bound(graph: &Graph, e: EventId, scratch: &mut Scratch) -> u32;

    /// Whether the graph is consistent, given that every event respects its lower bound.
    /// `changed` are the events that are new or read from another write, last in their threads: without them, the graph
    /// is known to be consistent.
    fn consistent(graph: &Graph, changed: &[EventId], scratch: &mut Scratch) -> bool;
}

/// Memory for searches, kept from one to the next.
#[derive(Default, Debug)]
pub struct Scratch {
    marks: Vec<u32>,
    generation: u32,
    stack: Vec<EventId>,
    /// By location, the search in which it was come to last, and the last place of the coherence order that was.
    reached: Vec<(u32, u32)>,
    /// For `psc.rs`.
    pub psc: psc::PscScratch,
}

impl Scratch {
    /// Starts a search over a graph.
    fn start(&mut self, graph: &Graph) {
        if self.marks.len() < graph.len() {
            self.marks.resize(graph.len().next_power_of_two(), 0);
        }
        self.generation += 1;
        self.stack.clear();
    }

    /// Visits an event, unless it was.
    #[inline]
    fn visit(&mut self, e: EventId) {
        use selvedge_ir::EntityRef;
        if e.is_event() && self.marks[e.index()] != self.generation {
            self.marks[e.index()] = self.generation;
            self.stack.push(e);
        }
    }

    /// Notes that the search has come to a place of the coherence order of a location; says which place was the last
    /// before, 0 if there was none.
    fn reach(&mut self, loc: LocId, position: u32) -> u32 {
        use selvedge_ir::EntityRef;
        if self.reached.len() <= loc.index() {
            self.reached.resize(loc.index() + 1, (0, 0));
        }
        let (generation, last) = &mut self.reached[loc.index()];
        if *generation != self.generation {
            (*generation, *last) = (self.generation, 0);
        }
        let before = *last;
        *last = before.max(position);
        before
    }

    #[inline]
    fn visited(&self, e: EventId) -> bool {
        use selvedge_ir::EntityRef;
        self.marks[e.index()] == self.generation
    }

    /// The last place of the coherence order of `e`'s location at which a write was visited.
    fn last_visited(&self, graph: &Graph, e: EventId) -> u32 {
        let co = &graph.location(graph.event(e).loc).co;
        co.iter().rposition(|&w| self.visited(w)).map_or(0, |n| n as u32 + 1)
    }
}

/// Visits what comes before an event by co and fr, and by rf if it counts. What phantom reads read says no more than co.
///
/// All older writes of a location, and the reads of these, come before a write: they are visited when the first write is come
/// to, and then no more, so that a search takes no longer than there are events and edges of program order.
fn communication(graph: &Graph, x: EventId, rf_counts: impl Fn(&Event, EventId) -> bool, scratch: &mut Scratch) {
    let event = graph.event(x);
    match event.kind {
        Kind::Read if event.phantom => {}
        Kind::Read if event.rf.is_event() && rf_counts(event, event.rf) => scratch.visit(event.rf),
        Kind::Write => {
            let location = graph.location(event.loc);
            let known = scratch.reach(event.loc, event.co);
            if known >= event.co {
                return;
            }
            for position in known..event.co {
                scratch.visit(location.write_at(position));
            }
            for r in location.reads() {
                let read = graph.event(r);
                let position = graph.position_of(read.rf);
                if (known..event.co).contains(&position) && !read.phantom && !read.reads_nothing() {
                    scratch.visit(r);
                }
            }
        }
        _ => {}
    }
}

/// The lower bound that coherence gives: the last write that comes before `e` or was read by what comes before `e`, in
/// the order of a row of clocks.
fn coherent_from(graph: &Graph, e: EventId, row: usize) -> u32 {
    use selvedge_ir::EntityRef;
    let event = graph.event(e);
    if !event.pred.is_event() {
        return 0;
    }
    // It does not count the event itself.
    let clock = graph.clocks.row(event.pred, row);
    let location = graph.location(event.loc);
    let (mut lowest, mut oldest) = (0, NONE);
    for (n, &w) in location.co.iter().enumerate().rev() {
        let other = graph.event(w);
        if clock[other.thread.index()] >= other.index {
            lowest = n as u32 + 1;
            break;
        }
        if w != e {
            oldest = oldest.min(w);
        }
    }
    // What has been read is newer only if it is among the writes that are. A read of a read-modify-write has nothing after it
    // but its own write, which is newer than what it has read; a blocked one has nothing after it.
    if oldest.is_event() && location.may_have_loads() {
        for r in location.reads_by(clock, true) {
            let rf = graph.event(r).rf;
            if rf >= oldest && rf.is_event() {
                lowest = lowest.max(graph.event(rf).co);
            }
        }
    }
    debug_assert_eq!(lowest, coherent_from_plain(graph, e, row), "all that comes before it counts");
    lowest
}

/// The same, as it is said.
fn coherent_from_plain(graph: &Graph, e: EventId, row: usize) -> u32 {
    use selvedge_ir::EntityRef;
    let event = graph.event(e);
    let is_before = |&x: &EventId| {
        let other = graph.event(x);
        event.pred.is_event() && graph.clocks.row(event.pred, row)[other.thread.index()] >= other.index
    };
    let location = graph.location(event.loc);
    let accesses = location.accesses().filter(|x| x != &e && is_before(x));
    accesses.map(|x| graph.position(x)).max().unwrap_or(0)
}

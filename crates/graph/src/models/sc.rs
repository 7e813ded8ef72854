//! Sequential consistency: acyclic(po ∪ rf ∪ co ∪ fr), and read-modify-writes are atomic.
//!
//! The lower bound of an event is the last write of its location from which the event's predecessor in program order can
//! be reached: an edge from the event to a later write would close a cycle through any such write, and through no other.

use super::{Model, Scratch, communication};
use crate::event::{Event, EventId, Kind};
use crate::graph::Graph;

/// Sequential consistency.
pub struct Sc;

impl Model for Sc {
    const STORES_AS_EXCHANGES: bool = true;

    fn lower_bound(graph: &Graph, e: EventId, scratch: &mut Scratch) -> u32 {
        let Event { loc, pred, .. } = *graph.event(e);
        let others = graph.location(loc).co.iter().rev().copied();
        let Some(last) = others.into_iter().find(|&w| w != e) else { return 0 };
        if pred.is_event() && graph.porf(last, pred) {
            return graph.event(last).co;
        }
        scratch.start(graph);
        scratch.visit(pred);
        while let Some(x) = scratch.stack.pop() {
            if x == last {
                break;
            }
            visit_before(graph, x, scratch);
        }
        scratch.last_visited(graph, e)
    }

    fn consistent(_: &Graph, _: &[EventId], _: &mut Scratch) -> bool {
        true
    }
}

/// Visits what comes directly before an event by po, rf, co and fr.
fn visit_before(graph: &Graph, x: EventId, scratch: &mut Scratch) {
    let event = graph.event(x);
    scratch.visit(event.pred);
    communication(graph, x, |_, _| true, scratch);
    if event.kind == Kind::Join {
        // A thread that makes no steps lies between its creation and its join nevertheless.
        let last = graph.last(event.other()).or(graph.birth(event.other()));
        last.into_iter().for_each(|last| scratch.visit(last));
    }
}

/// Whether an event is on a cycle of po ∪ rf ∪ co ∪ fr.
pub fn is_on_a_cycle(graph: &Graph, e: EventId, scratch: &mut Scratch) -> bool {
    scratch.start(graph);
    visit_before(graph, e, scratch);
    while let Some(x) = scratch.stack.pop() {
        if x == e {
            return true;
        }
        visit_before(graph, x, scratch);
    }
    false
}

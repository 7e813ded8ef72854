//! Sequential consistency: acyclic(po ∪ rf ∪ co ∪ fr), and read-modify-writes are atomic.
//!
//! The lower bound of an event is the last write of its location from which the event's predecessor in program order can
//! be reached: an edge from the event to a later write would close a cycle through any such write, and through no other.

use super::{Model, Scratch, communication};
use crate::event::{EventId, Kind};
use crate::graph::Graph;

/// Sequential consistency.
pub struct Sc;

impl Model for Sc {
    const STORES_AS_EXCHANGES: bool = true;

    fn lower_bound(graph: &Graph, e: EventId, scratch: &mut Scratch) -> u32 {
        scratch.start(graph);
        scratch.visit(graph.event(e).pred);
        while let Some(x) = scratch.stack.pop() {
            let event = graph.event(x);
            scratch.visit(event.pred);
            communication(graph, x, |_, _| true, scratch);
            if event.kind == Kind::Join {
                // A thread that makes no steps lies between its creation and its join nevertheless.
                let last = graph.last(event.other()).or(graph.birth(event.other()));
                last.into_iter().for_each(|last| scratch.visit(last));
            }
        }
        scratch.last_visited(graph, e)
    }

    fn consistent(_: &Graph, _: &[EventId], _: &mut Scratch) -> bool {
        true
    }
}

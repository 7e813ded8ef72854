//! Sequential consistency: acyclic(po ∪ rf ∪ co ∪ fr), and read-modify-writes are atomic.
//!
//! The lower bound of an event is the last write of its location from which the event's predecessor in program order can
//! be reached: an edge from the event to a later write would close a cycle through any such write, and through no other.

use super::{Model, Scratch};
use crate::event::{EventId, Kind};
use crate::graph::Graph;

/// Sequential consistency.
pub struct Sc;

impl Model for Sc {
    fn lower_bound(graph: &Graph, e: EventId, scratch: &mut Scratch) -> u32 {
        scratch.start(graph);
        scratch.visit(graph.event(e).pred);
        while let Some(x) = scratch.stack.pop() {
            let event = graph.event(x);
            scratch.visit(event.pred);
            communication(graph, x, scratch);
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

/// Visits what comes before an event by rf, co and fr.
fn communication(graph: &Graph, x: EventId, scratch: &mut Scratch) {
    let event = graph.event(x);
    match event.kind {
        Kind::Read => scratch.visit(event.rf),
        Kind::Write => {
            let location = graph.location(event.loc);
            let previous = location.write_at(event.co - 1);
            scratch.visit(previous);
            for &r in &location.reads {
                if graph.event(r).rf == previous {
                    scratch.visit(r);
                }
            }
        }
        _ => {}
    }
}

//! Data races: two accesses of different threads to one location, at least one of them a write and at least one of them
//! plain, neither of which happens before the other. Happens-before is that of RC11 under every model.

use crate::event::EventId;
use crate::graph::Graph;

/// An older event that the newest access (or the read that was just revisited) races with.
pub fn race_of(graph: &Graph, e: EventId) -> Option<EventId> {
    let event = graph.event(e);
    let location = graph.location(event.loc);
    let races = |&x: &EventId| {
        let other = graph.event(x);
        other.thread != event.thread
            && !(other.order.is_atomic() && event.order.is_atomic())
            && !graph.hb(x, e)
            && !graph.hb(e, x)
    };
    let writes = location.co.iter().copied().find(races);
    writes.or_else(|| event.is_write().then(|| location.reads.iter().copied().find(races)).flatten())
}

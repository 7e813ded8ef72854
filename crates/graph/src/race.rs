//! Data races: two accesses of different threads to one location, at least one of them a write and at least one of them
//! plain, neither of which happens before the other. Happens-before is that of RC11 under every model.
//!
//! What a thread writes into an object before others know of it is no event. Whoever accesses the object later must have
//! seen what the thread did next, or else it races with that: a pointer that was published by a relaxed store.

use crate::event::{EventId, Kind};
use crate::graph::Graph;
use selvedge_machine::{Addr, Memory, ThreadId};

/// An older event that the newest access (or the read that was just revisited) races with.
pub fn race_of(graph: &Graph, e: EventId) -> Option<EventId> {
    let event = graph.event(e);
    let location = graph.location(event.loc);
    let races = |&x: &EventId| {
        let other = graph.event(x);
        let both_atomic = other.order.is_atomic() && event.order.is_atomic();
        let ordered = graph.hb(x, e) || graph.hb(e, x);
        other.thread != event.thread && !other.phantom && !both_atomic && !ordered
    };
    let writes = location.co.iter().copied().find(races);
    writes.or_else(|| event.is_write().then(|| location.reads().find(races)).flatten())
}

/// The thread with whose private writes to an object an access to it races. Objects know the step in which they were
/// last written privately, from 1 (`runner.rs`).
#[inline(always)]
pub fn race_with_owner(graph: &Graph, e: EventId, addr: Addr, memory: &Memory) -> Option<ThreadId> {
    let owner = Memory::owner_of(addr).filter(|&owner| owner != graph.event(e).thread)?;
    let id = memory.find(addr)?;
    debug_assert_eq!(memory.owner(id), Some(owner), "an object is in the space of its owner");
    let step = memory.object(id).touched as usize;
    if step == 0 { None } else { race_with_step(graph, e, owner, step) }
}

/// The same if the owner has written to the object in a step.
fn race_with_step(graph: &Graph, e: EventId, owner: ThreadId, step: usize) -> Option<ThreadId> {
    let own = graph.executed.iter().take(step).rev().find(|&&x| graph.event(x).thread == owner);
    let seen = graph.clocks.get(crate::clocks::HB, e, owner);
    let done = own.map_or(0, |&x| graph.event(x).index);
    let ended = || {
        let last = graph.thread(owner).len() as u32 == done;
        let joined =
            |j: EventId| graph.event(j).kind == Kind::Join && graph.event(j).other() == owner && graph.hb(j, e);
        last && graph.ids().any(joined)
    };
    (seen <= done && !ended()).then_some(owner)
}

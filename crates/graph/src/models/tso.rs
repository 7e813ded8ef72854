//! x86-TSO: acyclic(ppo ∪ fence ∪ rfe ∪ co ∪ fr), acyclic(po-loc ∪ rf ∪ co ∪ fr), and read-modify-writes are atomic.
//!
//! ppo is program order without pairs of a write and a later read. A fence orders everything before it with everything
//! after it: fences with order `seq_cst`, every read-modify-write (a failed compare-and-exchange too), a `seq_cst` store
//! towards what comes after it, and the creation and end of threads.

use super::{Model, Scratch, communication};
use crate::event::{Event, EventId, Kind};
use crate::graph::Graph;
use selvedge_ir::Order;
use selvedge_machine::ThreadId;

/// x86-TSO.
pub struct Tso;

impl Model for Tso {
    const STORES_AS_EXCHANGES: bool = true;

    fn lower_bound(graph: &Graph, e: EventId, scratch: &mut Scratch) -> u32 {
        let own = per_location(graph, e);
        if own == graph.newest(graph.event(e).loc) {
            return own;
        }
        scratch.start(graph);
        preserved(graph, e, scratch);
        while let Some(x) = scratch.stack.pop() {
            preserved(graph, x, scratch);
            communication(graph, x, |read, write| graph.event(write).thread != read.thread, scratch);
        }
        scratch.last_visited(graph, e).max(own)
    }

    fn consistent(_: &Graph, _: &[EventId], _: &mut Scratch) -> bool {
        true
    }
}

/// The last place of the coherence order that the thread itself has written or read (acyclic(po-loc ∪ ...)): that of its
/// last access to the location, since the same holds for that one.
fn per_location(graph: &Graph, e: EventId) -> u32 {
    let event = graph.event(e);
    let own = &graph.thread(event.thread)[..event.index as usize - 1];
    let last = own.iter().rev().find(|&&x| graph.event(x).is_access() && graph.event(x).loc == event.loc);
    last.map_or(0, |&x| graph.position(x))
}

/// A write that a later read may overtake.
fn is_delayed(event: &Event) -> bool {
    event.is_write() && !event.locked && event.order != Order::SeqCst
}

/// An event that nothing later overtakes.
fn is_strong(event: &Event) -> bool {
    match event.kind {
        Kind::Read => !event.phantom,
        Kind::Spawn | Kind::Join => true,
        Kind::Write => !is_delayed(event),
        Kind::Fence => event.order == Order::SeqCst,
        Kind::Choose | Kind::Free | Kind::Halt | Kind::Turn => false,
    }
}

/// Visits the nearest events that come before an event by ppo and fences.
fn preserved(graph: &Graph, e: EventId, scratch: &mut Scratch) {
    let event = graph.event(e);
    if event.kind == Kind::Join {
        // All that the thread has done: its last read does not stand for the writes before it.
        nearest(graph, event.other(), graph.thread(event.other()), false, scratch);
    }
    let overtakes = event.is_read() && !event.locked && !event.phantom;
    nearest(graph, event.thread, &graph.thread(event.thread)[..event.index as usize - 1], overtakes, scratch);
}

/// Visits the nearest events of a thread that come before what follows these; that may overtake writes, or not.
fn nearest(graph: &Graph, thread: ThreadId, own: &[EventId], overtakes: bool, scratch: &mut Scratch) {
    let mut seen = false;
    let mut delayed = overtakes;
    for &x in own.iter().rev() {
        let before = graph.event(x);
        if is_strong(before) {
            scratch.visit(x);
            seen = true;
            // A read does not stand for the writes before it.
            if delayed || !before.is_read() || before.locked {
                return;
            }
        } else if is_delayed(before) && !delayed {
            scratch.visit(x);
            delayed = true;
            if seen {
                return;
            }
        }
    }
    if let Some(birth) = graph.birth(thread) {
        scratch.visit(birth);
    }
}

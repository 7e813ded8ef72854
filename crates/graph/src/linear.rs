//! A graph as a sequence of steps.
//!
//! If the graph is sequentially consistent, the sequence is an interleaving that behaves like it: program order,
//! reads-from, coherence and from-reads all go forwards. Otherwise the sequence is the order in which the machine
//! executes the events, and what a read reads is not always what was written last.

use crate::event::EventId;
use crate::graph::Graph;
use selvedge_ir::EntityRef;

/// The executed events (a read-modify-write as its write), and `last` at their end.
pub fn order(graph: &Graph, last: Option<EventId>) -> Vec<EventId> {
    let mut left: Vec<EventId> = graph.executed.clone();
    left.extend(last.filter(|last| !graph.executed.contains(last)));
    let all = left.clone();
    let mut sequence = Vec::with_capacity(left.len());
    let mut done = vec![false; graph.len()];
    // Steps that nobody has to wait for, the oldest first; switches between threads are few since a thread's steps stand
    // together in the list as far as they can.
    while let Some(next) = left.iter().position(|&e| Some(e) != last && is_next(graph, e, &all, &done)) {
        let e = left.remove(next);
        done[e.index()] = true;
        if graph.event(e).is_write() && graph.event(e).exclusive {
            done[graph.event(e).pred.index()] = true;
        }
        sequence.push(e);
    }
    match left.as_slice() {
        [] => sequence,
        &[only] if Some(only) == last => {
            sequence.push(only);
            sequence
        }
        _ => all,
    }
}

/// Whether all that comes before a step is done.
fn is_next(graph: &Graph, e: EventId, all: &[EventId], done: &[bool]) -> bool {
    let event = graph.event(e);
    let in_thread =
        all.iter().take_while(|&&x| x != e).all(|&x| graph.event(x).thread != event.thread || done[x.index()]);
    let created = graph.birth(event.thread).is_none_or(|birth| done[birth.index()]);
    let joined = event.kind != crate::event::Kind::Join
        || (graph.birth(event.other()).is_none_or(|birth| done[birth.index()])
            && all.iter().all(|&x| graph.event(x).thread != event.other() || done[x.index()]));
    if !(in_thread && created && joined) {
        return false;
    }
    if !event.is_access() {
        return true;
    }
    let read = if event.is_write() && event.exclusive { event.pred } else { e };
    let source = graph.event(read).is_read().then(|| graph.event(read).rf);
    if source.is_some_and(|source| source.is_event() && !done[source.index()]) {
        return false;
    }
    if event.is_read() {
        // A later write must not come first, nor may one that is later than what is read have come.
        let location = graph.location(event.loc);
        return location.co[graph.position(e) as usize..].iter().all(|w| !done[w.index()]);
    }
    let location = graph.location(event.loc);
    let earlier = location.co[..event.co as usize - 1].iter().all(|w| done[w.index()] || !all.contains(w));
    let mut readers = location.reads.iter().filter(|&&r| r != read && graph.position(r) < event.co);
    earlier
        && readers.all(|&r| done[r.index()] || !all.contains(&r) && graph.write_of(r).is_none_or(|w| !all.contains(&w)))
}

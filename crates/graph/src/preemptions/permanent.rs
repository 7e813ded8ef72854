//! What is part of every graph that is come to from a graph.
//!
//! A revisit deletes what was added maximally only (`backward.rs`), so some events are permanent. And where a thread was made to read
//! something newer, it has to make room in whatever is come to, be it elsewhere.

use super::{Done, HeldUp, is_among};
use crate::clocks::PORF;
use crate::event::{Event, EventId, Kind};
use crate::graph::Graph;
use selvedge_ir::EntityRef;

/// How many events of each thread no revisit will delete.
///
/// These are permanent, with all that they depend on:
/// - a choice other than the first;
/// - a read that has not read the last of the writes that were there before it, and a write that was not placed behind them. One of
///   these could become maximal only if the write that lies behind it were deleted, and it not. Then it would be something
///   that the revisiting write depends on, which is read by an older event, and permanent like
/// - a write that an older event was made to read by a revisit: as long as that event is there, it is not maximal; and if that is
///   deleted, the revisiting write depends on this one, and is read by an event that is older still.
///
/// Reads that wait, or that were added as attempts, may read again in place, and do not count.
pub fn permanent(graph: &Graph) -> Done {
    let mut part = Done::from_elem(0, graph.thread_limit());
    for e in graph.ids().filter(|&e| is_permanent(graph, e)) {
        let event = graph.event(e);
        let before = graph.clocks.row(e, PORF);
        part.iter_mut().zip(before).for_each(|(count, &before)| *count = before.max(*count));
        let own = &mut part[event.thread.index()];
        *own = event.index.max(*own);
    }
    part
}

/// Where threads are held up behind the permanent part, and by which writes.
///
/// A read `r` that was made to read a write `w` by a revisit may be deleted, by the revisit of an older read. That takes a write that
/// depends on `w`. If among the reads that are older than `r`, and that `w` does not depend on, there are only some of the same
/// thread, then one of these, or `r`, depends on `w` in whatever is come to: once it is another one, the same is true of that. So the thread
/// has to make room behind the permanent part, and before `r`, until `w` has taken place. If it might do so without a preemption, that
/// says nothing. Otherwise it is as if there were one more event behind the permanent part, which depends on `w`. The one that
/// is there stands for it.
pub fn held_up(graph: &Graph, part: &Done) -> HeldUp {
    let mut found = HeldUp::new();
    for r in graph.ids() {
        let event = graph.event(r);
        let w = event.base;
        let is_revisited = event.is_read() && w.is_event() && w > r && event.rf == w && !may_read_again(event);
        if !is_revisited || event.confirms || is_among(graph, r, part) {
            continue;
        }
        let before = graph.clocks.row(w, PORF);
        let is_settled = |q: &Event| before[q.thread.index()].max(part[q.thread.index()]) >= q.index;
        let mut older = (0..r.index()).map(|n| graph.event(EventId::new(n)));
        if older.any(|q| q.is_read() && q.thread != event.thread && !is_settled(q)) {
            continue;
        }
        let rest = &graph.thread(event.thread)[part[event.thread.index()] as usize..event.index as usize];
        let makes_room = |e: &Event| e.yields || e.waits || e.kind == Kind::Join || e.kind == Kind::Turn;
        if !rest.iter().any(|&e| makes_room(graph.event(e))) {
            found.push((rest[0], w));
        }
    }
    found
}

/// Whether a read may be read again in place.
fn may_read_again(event: &Event) -> bool {
    event.waits || event.blocked || event.composite || event.speculative
}

/// Whether that is so of an event, whatever depends on it.
pub fn is_permanent(graph: &Graph, e: EventId) -> bool {
    let event = graph.event(e);
    let location = || graph.location(event.loc);
    let older_lies_behind = |position: u32| location().co[position as usize..].iter().any(|&w| w < e);
    let was_made_to_read = |r: EventId| {
        let read = graph.event(r);
        r < e && !read.speculative && (read.base == e || read.primary == e)
    };
    match event.kind {
        Kind::Choose => event.value != 0,
        Kind::Write => older_lies_behind(graph.position(e)) || location().reads().any(was_made_to_read),
        Kind::Read => {
            !may_read_again(event) && !event.reads_nothing() && older_lies_behind(graph.position_of(event.rf))
        }
        _ => false,
    }
}

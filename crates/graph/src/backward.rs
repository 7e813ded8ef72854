//! Backward revisits: which reads could read from a new write, had they come after it (Algorithm 2 without in-place and
//! speculative revisits is TruSt's).
//!
//! A read `r` that is revisited by a write `w` keeps what was added before `r` and what `w` depends on; all else is
//! deleted. Several graphs lead to the same result, so only one may do it: the one in which `r` and everything deleted
//! was added maximally, reading from (or placed behind) the coherence-last write of what had been there. Whether that is
//! so depends on the event and on `w`, not on `r`, so that one pass from the newest event to the oldest finds all reads,
//! and ends at the first event that was not added maximally.

use crate::clocks::PORF;
use crate::event::{BOTTOM, Event, EventId, Kind, LocId, NONE, Turn};
use crate::graph::Graph;
use selvedge_ir::EntityRef;
use std::ops::ControlFlow;

/// Which reads are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Only reads that are no newer.
    pub limit: Option<EventId>,
    /// What is newer is known to have been added maximally, and no read among it is revisited.
    pub newest: Option<EventId>,
    /// Not those that are read again in place instead.
    pub in_place: bool,
    /// Sets of locations (`Event::choice` of turns).
    pub looked_at: &'a [Vec<LocId>],
}

/// Calls `found` with the reads that the newest event, a write, revisits.
pub fn revisits(graph: &Graph, w: EventId, scope: Scope<'_>, mut found: impl FnMut(EventId)) {
    let found = |r| {
        found(r);
        ControlFlow::Continue(())
    };
    revisits_after(graph, (w, graph.clocks.row(w, PORF)), scope, found);
}

/// The same if so many events of each thread come before the write, until `found` has had enough.
pub fn revisits_after(
    graph: &Graph,
    (w, counts): (EventId, &[u32]),
    Scope { limit, newest, in_place, looked_at }: Scope<'_>,
    mut found: impl FnMut(EventId) -> ControlFlow<()>,
) {
    let loc = graph.event(w).loc;
    let past = Past { graph, w, counts };
    debug_assert!(newest.is_none_or(|newest| past.deletes_maximal(newest, looked_at)), "that is known");
    // Of reads that `w` does not depend on.
    let could = |r: EventId, event: &Event| {
        let settled = || event.composite || event.tested || in_place && past.waits(r) || is_confirmation(graph, r);
        limit.is_none_or(|limit| r <= limit) && !settled()
    };
    let mut others = graph.location(loc).reads_by(past.counts, false);
    let Some(oldest) = others.find(|&r| could(r, graph.event(r))) else { return };
    let end = newest.map_or(w.index(), |newest| newest.index() + 1);
    for e in (oldest.index()..end).rev().map(EventId::new) {
        let event = graph.event(e);
        if past.contains(event) {
            continue;
        }
        if !past.maximally_added(e, looked_at) {
            return;
        }
        if event.is_read() && event.loc == loc && could(e, event) && found(e).is_break() {
            return;
        }
    }
}

/// Whether a read confirms a speculative one. It is not revisited: it would read from another write than that one, and
/// fail (section 3.3).
pub fn is_confirmation(graph: &Graph, r: EventId) -> bool {
    let event = graph.event(r);
    if !event.confirms {
        return false;
    }
    let mut before = graph.thread(event.thread)[..event.index as usize - 1].iter().map(|&e| graph.event(e));
    let partner = before.rfind(|e| e.speculative || e.confirms);
    partner.is_some_and(|partner| partner.speculative && partner.loc == event.loc)
}

/// Whether a revisit of `r` by the newest event, a speculative read, may be made.
pub fn may_revisit(graph: &Graph, a: EventId, r: EventId, looked_at: &[Vec<LocId>]) -> bool {
    let past = Past::of(graph, a);
    let deleted = (r.index()..a.index()).rev().map(EventId::new).filter(|&e| !past.contains(graph.event(e)));
    !past.contains(graph.event(r)) && !past.waits(r) && deleted.into_iter().all(|e| past.maximally_added(e, looked_at))
}

/// What an event `w` that revisits depends on: what comes before it in program order and reads-from.
struct Past<'a> {
    graph: &'a Graph,
    w: EventId,
    counts: &'a [u32],
}

impl<'a> Past<'a> {
    #[inline]
    fn of(graph: &'a Graph, w: EventId) -> Past<'a> {
        Past { graph, w, counts: graph.clocks.row(w, PORF) }
    }

    /// Whether all events that are newer than one and do not come before `w` were added maximally.
    fn deletes_maximal(&self, newer: EventId, looked_at: &[Vec<LocId>]) -> bool {
        let deleted = (newer.index() + 1..self.w.index()).map(EventId::new);
        deleted.filter(|&e| !self.contains(self.graph.event(e))).all(|e| self.maximally_added(e, looked_at))
    }

    #[inline]
    fn contains(&self, event: &Event) -> bool {
        self.counts[event.thread.index()] >= event.index
    }

    /// Whether an event had been there when `e` was added, or comes before `w`.
    #[inline]
    fn is_previous(&self, x: EventId, e: EventId) -> bool {
        x != self.w && (x < e || self.contains(self.graph.event(x)))
    }

    /// Whether a read waits, or would wait if all that a revisit by `w` deletes were gone (r ∈ G''.R^blk, line 4).
    #[inline]
    fn waits(&self, r: EventId) -> bool {
        let event = self.graph.event(r);
        let lost = || event.rf.is_event() && event.rf > r && !self.contains(self.graph.event(event.rf));
        event.blocked || event.rf != event.base && lost()
    }

    /// Whether `e` was added maximally with respect to what had been there or comes before `w`. In-place revisits count as
    /// part of the addition of the write that made them.
    fn maximally_added(&self, e: EventId, looked_at: &[Vec<LocId>]) -> bool {
        let graph = self.graph;
        let event = graph.event(e);
        let write = match event.kind {
            Kind::Choose => return event.value == 0,
            Kind::Turn => {
                return match event.turn {
                    Turn::Now | Turn::Past | Turn::Waits | Turn::Last => true,
                    Turn::Stale => false,
                    // With what comes before `w`, the attempt would not have read what it has put off.
                    Turn::Later => looked_at[event.choice as usize].iter().any(|&loc| {
                        let newer = graph.location(loc).co.iter().rev().take_while(|&&x| x > e);
                        newer.into_iter().any(|&x| self.is_previous(x, e))
                    }),
                };
            }
            Kind::Read if event.primary != NONE => return false,
            Kind::Read if event.base.is_event() && !self.is_previous(event.base, e) => return false,
            Kind::Read if event.rf == BOTTOM => return true,
            Kind::Read => event.rf,
            Kind::Write if event.choice > 0 => return false,
            Kind::Write => e,
            _ => return true,
        };
        let location = graph.location(event.loc);
        if location.co[graph.position_of(write) as usize..].iter().any(|&x| self.is_previous(x, e)) {
            return false;
        }
        let revisited = |r: EventId| {
            let read = graph.event(r);
            (read.base == e || read.primary == e) && self.is_previous(r, e)
        };
        // Of reads, only speculative ones are what others wait for.
        event.is_read() && !event.speculative || !location.reads().any(revisited)
    }
}

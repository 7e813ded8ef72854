//! The partial SC order of RC11:
//!
//! - scb = po ∪ po|≠loc ; hb ; po|≠loc ∪ hb|loc ∪ co ∪ fr
//! - psc_base = ([E^sc] ∪ [F^sc] ; hb?) ; scb ; ([E^sc] ∪ hb? ; [F^sc])
//! - psc_F = [F^sc] ; (hb ∪ hb ; eco ; hb) ; [F^sc]
//!
//! Graphs have few `seq_cst` events, or all of them are; either way the edges between these are looked for pair by pair.
//!
//! If there are no `seq_cst` fences, psc is scb between `seq_cst` accesses. An event that is the last of its thread, and read
//! by none but such events, is on no path of hb between others; so it makes no edge of scb between others, and a new cycle
//! leads through a `seq_cst` access that has changed.

use crate::event::{Event, EventId, Kind};
use crate::graph::Graph;
use selvedge_ir::Order;

/// Which events count as `seq_cst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strength {
    /// Fences only, and psc_F only.
    Fences,
    /// Fences and accesses.
    All,
}

/// Memory for the search.
#[derive(Default, Debug)]
pub struct PscScratch {
    sc: Vec<EventId>,
    edges: Vec<bool>,
    state: Vec<u8>,
    stack: Vec<EventId>,
}

/// Whether psc has no cycle, given that it has none without the events that have changed. `row` is the clock of
/// happens-before.
pub fn is_acyclic(
    graph: &Graph,
    row: usize,
    strength: Strength,
    changed: &[EventId],
    scratch: &mut PscScratch,
) -> bool {
    let is_sc = |event: &Event| {
        event.order == Order::SeqCst && (event.kind == Kind::Fence || strength == Strength::All && event.is_access())
    };
    scratch.sc.clear();
    scratch.sc.extend(graph.ids().filter(|&e| is_sc(graph.event(e))));
    let n = scratch.sc.len();
    if n < 2 {
        return true;
    }
    let psc = Psc { graph, row, strength };
    if !scratch.sc.iter().any(|&e| graph.event(e).kind == Kind::Fence) {
        return changed.iter().all(|&e| !is_sc(graph.event(e)) || !psc.leads_back(e, scratch));
    }
    scratch.edges.clear();
    for &a in &scratch.sc {
        let sc = &scratch.sc;
        scratch.edges.extend(sc.iter().map(|&b| psc.edge(a, b)));
    }
    scratch.state.clear();
    scratch.state.resize(n, 0);
    (0..n).all(|start| acyclic_from(start, n, &scratch.edges, &mut scratch.state))
}

/// Depth-first search: 1 is on the way, 2 is done.
fn acyclic_from(at: usize, n: usize, edges: &[bool], state: &mut [u8]) -> bool {
    match state[at] {
        1 => return false,
        2 => return true,
        _ => {}
    }
    state[at] = 1;
    let acyclic = (0..n).all(|next| !edges[at * n + next] || acyclic_from(next, n, edges, state));
    state[at] = 2;
    acyclic
}

struct Psc<'a> {
    graph: &'a Graph,
    row: usize,
    strength: Strength,
}

impl Psc<'_> {
    /// Whether an event is on a cycle.
    fn leads_back(&self, start: EventId, scratch: &mut PscScratch) -> bool {
        let PscScratch { sc, state, stack, .. } = scratch;
        state.clear();
        state.resize(sc.len(), 0);
        stack.clear();
        stack.push(start);
        while let Some(at) = stack.pop() {
            for (&next, seen) in sc.iter().zip(state.iter_mut()) {
                if *seen == 0 && self.base(at, next) {
                    if next == start {
                        return true;
                    }
                    *seen = 1;
                    stack.push(next);
                }
            }
        }
        false
    }

    fn edge(&self, a: EventId, b: EventId) -> bool {
        let fence = |e: EventId| self.graph.event(e).kind == Kind::Fence;
        if fence(a) && fence(b) && self.between_fences(a, b) {
            return true;
        }
        self.strength == Strength::All && self.base(a, b)
    }

    fn hb(&self, a: EventId, b: EventId) -> bool {
        a != b && self.graph.clocks.before(self.row, self.graph.event(a), b)
    }

    fn hb_or_same(&self, a: EventId, b: EventId) -> bool {
        self.graph.clocks.before(self.row, self.graph.event(a), b)
    }

    fn same_location(&self, a: EventId, b: EventId) -> bool {
        let (a, b) = (self.graph.event(a), self.graph.event(b));
        a.is_access() && b.is_access() && a.loc == b.loc
    }

    /// psc_F.
    fn between_fences(&self, a: EventId, b: EventId) -> bool {
        let after_a = |x: EventId| self.graph.event(x).is_access() && self.hb(a, x);
        self.hb(a, b)
            || self.graph.ids().filter(|&x| after_a(x)).any(|x| {
                let location = self.graph.location(self.graph.event(x).loc);
                let others = location.co.iter().chain(&location.reads);
                others.copied().any(|y| x != y && self.hb(y, b) && self.eco(x, y))
            })
    }

    /// eco of two accesses to one location.
    fn eco(&self, x: EventId, y: EventId) -> bool {
        let (from, to) = (self.graph.position(x), self.graph.position(y));
        let through_rf = self.graph.event(x).is_write() && self.graph.event(y).is_read();
        from < to || through_rf && from == to
    }

    /// psc_base.
    fn base(&self, a: EventId, b: EventId) -> bool {
        let fence = |e: EventId| self.graph.event(e).kind == Kind::Fence;
        let ends = |x: EventId| self.scb(x, b) || fence(b) && self.graph.ids().any(|y| self.hb(y, b) && self.scb(x, y));
        ends(a) || fence(a) && self.graph.ids().any(|x| self.hb(a, x) && ends(x))
    }

    fn scb(&self, x: EventId, y: EventId) -> bool {
        if x == y {
            return false;
        }
        let (a, b) = (self.graph.event(x), self.graph.event(y));
        if a.thread == b.thread {
            return a.index < b.index || self.communicates(x, y);
        }
        self.communicates(x, y) || self.same_location(x, y) && self.hb(x, y) || self.around(x, y)
    }

    /// co or fr.
    fn communicates(&self, x: EventId, y: EventId) -> bool {
        self.same_location(x, y) && self.graph.event(y).is_write() && self.graph.position(x) < self.graph.position(y)
    }

    /// po|≠loc ; hb ; po|≠loc: through the first event after `x` and the last before `y` at other locations. The end of a
    /// thread, which every join of it comes after, counts as an event of it; and so does its beginning, which comes after
    /// its creation.
    fn around(&self, x: EventId, y: EventId) -> bool {
        let (a, b) = (self.graph.event(x), self.graph.event(y));
        let after = self.graph.thread(a.thread)[a.index as usize..].iter().find(|&&n| !self.same_location(x, n));
        let before = self.graph.thread(b.thread)[..b.index as usize - 1].iter().rfind(|&&n| !self.same_location(y, n));
        let Some(before) = before.copied().or(self.graph.birth(b.thread)) else { return false };
        match after {
            Some(&after) => self.hb_or_same(after, before),
            None => self.graph.ids().any(|j| {
                let event = self.graph.event(j);
                event.kind == Kind::Join && event.other() == a.thread && self.hb_or_same(j, before)
            }),
        }
    }
}

//! The partial SC order of RC11:
//!
//! - scb = po ∪ po|≠loc ; hb ; po|≠loc ∪ hb|loc ∪ co ∪ fr
//! - psc_base = ([E^sc] ∪ [F^sc] ; hb?) ; scb ; ([E^sc] ∪ hb? ; [F^sc])
//! - psc_F = [F^sc] ; (hb ∪ hb ; eco ; hb) ; [F^sc]
//!
//! Edges are looked for one by one, and only those that a new cycle could consist of. The events that have changed are the
//! last of their threads, and read by none but each other. So nothing happens after them, and an edge of psc between other
//! events that leads through one of them, `e`, begins with a `seq_cst` fence which happens before `e` and goes on by what
//! `e` is scb- or eco-before. A new cycle has such an edge, or leads through `e` itself.
//!
//! Between two fences psc_base is part of psc_F: what scb has besides co and fr is part of hb.

use crate::event::{BOTTOM, EventId, Kind};
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
    seen: Vec<bool>,
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
    if graph.seq_cst_events() < 2 {
        return true;
    }
    let psc = Psc { graph, row, strength };
    scratch.sc.clear();
    scratch.sc.extend(graph.ids().filter(|&e| psc.is_sc(e)));
    scratch.sc.len() < 2 || changed.iter().all(|&e| !psc.closes_cycle(e, scratch))
}

struct Psc<'a> {
    graph: &'a Graph,
    row: usize,
    strength: Strength,
}

impl Psc<'_> {
    fn is_fence(&self, e: EventId) -> bool {
        self.graph.event(e).kind == Kind::Fence
    }

    fn is_sc(&self, e: EventId) -> bool {
        let event = self.graph.event(e);
        let counts = self.is_fence(e) || self.strength == Strength::All && event.is_access();
        event.order == Order::SeqCst && counts
    }

    /// Whether there is a cycle that a changed event is part of, or that an edge through it is.
    fn closes_cycle(&self, e: EventId, scratch: &mut PscScratch) -> bool {
        let begins = |a: EventId| self.is_fence(a) && self.hb(a, e);
        self.is_sc(e) && self.leads_back(|b| self.edge(e, b), |a| a == e, scratch)
            || scratch.sc.iter().any(|&a| begins(a)) && self.leads_back(|b| self.goes_on(e, b), begins, scratch)
    }

    /// Whether psc leads from some event for which `first` is true to one for which `end` is.
    fn leads_back(
        &self,
        first: impl Fn(EventId) -> bool,
        end: impl Fn(EventId) -> bool,
        scratch: &mut PscScratch,
    ) -> bool {
        let PscScratch { sc, seen, stack } = scratch;
        seen.clear();
        seen.resize(sc.len(), false);
        stack.clear();
        let mut at = None;
        loop {
            for (&next, seen) in sc.iter().zip(seen.iter_mut()).filter(|(_, seen)| !**seen) {
                if at.map_or_else(|| first(next), |at| self.edge(at, next)) {
                    if end(next) {
                        return true;
                    }
                    *seen = true;
                    stack.push(next);
                }
            }
            at = stack.pop();
            if at.is_none() {
                return false;
            }
        }
    }

    /// Whether an edge that begins with a fence and then a changed event ends at `b`.
    fn goes_on(&self, e: EventId, b: EventId) -> bool {
        let by_eco = || self.graph.event(e).is_access() && self.is_fence(b) && self.eco_and_hb(|x| x == e, b);
        by_eco() || self.strength == Strength::All && self.ends(e, b)
    }

    fn edge(&self, a: EventId, b: EventId) -> bool {
        match (self.is_fence(a), self.is_fence(b)) {
            (true, true) => self.hb(a, b) || self.eco_and_hb(|x| self.hb(a, x), b),
            // psc_base.
            _ if self.strength == Strength::Fences => false,
            (true, false) => self.ends(a, b) || self.graph.ids().any(|x| self.hb(a, x) && self.ends(x, b)),
            (false, _) => self.ends(a, b),
        }
    }

    /// scb ; ([E^sc] ∪ hb? ; [F^sc]), from an event to a `seq_cst` one.
    fn ends(&self, x: EventId, b: EventId) -> bool {
        self.scb(x, b) || self.is_fence(b) && self.graph.ids().any(|y| self.hb(y, b) && self.scb(x, y))
    }

    /// eco ; hb, from an access for which `starts` is true to a fence. In a location's order of accesses, in which reads
    /// come right behind what they read from, eco is what comes later.
    fn eco_and_hb(&self, starts: impl Fn(EventId) -> bool, b: EventId) -> bool {
        let place = |x: EventId| 2 * self.position(x) + u32::from(self.graph.event(x).is_read());
        self.graph.locations().any(|loc| {
            let location = self.graph.location(loc);
            let accesses = || location.co.iter().chain(&location.reads).copied();
            let first = accesses().filter(|&x| starts(x)).map(place).min();
            first.is_some_and(|first| accesses().any(|y| first < place(y) && self.hb(y, b)))
        })
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

    /// The place in coherence order; behind all others for a speculative read that reads from nothing yet.
    fn position(&self, e: EventId) -> u32 {
        if self.graph.event(e).rf == BOTTOM { u32::MAX / 4 } else { self.graph.position(e) }
    }

    /// co or fr.
    fn communicates(&self, x: EventId, y: EventId) -> bool {
        self.same_location(x, y) && self.graph.event(y).is_write() && self.position(x) < self.position(y)
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

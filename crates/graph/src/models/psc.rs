//! The partial SC order of RC11:
//!
//! - scb = po ∪ po|≠loc ; hb ; po|≠loc ∪ hb|loc ∪ co ∪ fr
//! - psc_base = ([E^sc] ∪ [F^sc] ; hb?) ; scb ; ([E^sc] ∪ hb? ; [F^sc])
//! - psc_F = [F^sc] ; (hb ∪ hb ; eco ; hb) ; [F^sc]
//!
//! [`is_acyclic`] looks for new cycles only, and knows what comes before and after fences by location
//! (`fence_reach.rs`). [`is_acyclic_plain`] looks at all pairs as the definitions say; tests compare the two.
//!
//! ## Where a new cycle leads through
//!
//! Let C be the events that have changed. They are the last of their threads and read by each other only, so what happens
//! after one of them is in C, and without them there is no cycle. An edge of psc_base or psc_F from a to b that is new
//! because of an event in C either has its end b there (the event before b is, and b happens after that), or its beginning
//! a, or a is a fence and the event x after it, from which scb or eco leads on, is in C. So for every e in C there are two
//! searches: from e, if it is `seq_cst`, for e; and from e as such an x for a fence that happens before e, which closes the
//! cycle.
//!
//! All of these edges are made of po, rf, co and fr. So if no changed event is on a cycle of those, there is nothing to search
//! for: that is quick to find out, and most graphs of programs with `seq_cst` accesses only are like that.
//!
//! ## Edges from and to fences
//!
//! co, fr and eco are orders of places in coherence order, which the rows of `fence_reach.rs` answer. What remains of scb
//! is part of hb:
//!
//! - between fences, hb is an edge of psc_F itself;
//! - from a fence a to an access b: through an event before b in program order, so a happens before the last one of
//!   these (or is it; or it is the creation of the thread); or through an access to b's location, hb|loc;
//! - from an access a to a fence b: through the event that comes next in program order, or through a join of a's thread if a
//!   is its last event; or through an access to a's location, hb|loc.
//!
//! po|≠loc ; hb ; po|≠loc adds nothing to the last two: it begins and ends in program order.

use super::fence_reach::{FenceReach, key};
use super::{Scratch, sc};
use crate::event::{Event, EventId, Kind};
use crate::graph::Graph;
use selvedge_ir::Order;
use selvedge_machine::ThreadId;

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
    reach: FenceReach,
    seen: Vec<bool>,
    stack: Vec<usize>,
}

/// Whether psc has no cycle, given that it has none without the events that have changed. `row` is the clock of
/// happens-before.
pub fn is_acyclic(graph: &Graph, row: usize, strength: Strength, changed: &[EventId], scratch: &mut Scratch) -> bool {
    if graph.seq_cst_events() < 2 {
        return true;
    }
    let acyclic = !changed.iter().any(|&e| sc::is_on_a_cycle(graph, e, scratch))
        || has_no_new_cycle(graph, row, strength, changed, &mut scratch.psc);
    debug_assert!(
        graph.len() > COMPARED || acyclic == is_acyclic_plain(graph, row, strength),
        "a new cycle leads through a changed event"
    );
    acyclic
}

fn has_no_new_cycle(
    graph: &Graph,
    row: usize,
    strength: Strength,
    changed: &[EventId],
    scratch: &mut PscScratch,
) -> bool {
    let psc = Psc { graph, row, strength };
    scratch.sc.clear();
    scratch.sc.extend(graph.ids().filter(|&e| psc.is_sc(graph.event(e))));
    if scratch.sc.len() < 2 {
        return true;
    }
    scratch.reach.start(scratch.sc.len());
    changed.iter().all(|&e| !psc.leads_back(e, scratch) && !psc.leads_before(e, scratch))
}

/// Graphs up to this size are compared with the plain search, in builds that check.
const COMPARED: usize = 24;

/// Whether psc has no cycle, by the definitions.
pub fn is_acyclic_plain(graph: &Graph, row: usize, strength: Strength) -> bool {
    let psc = Psc { graph, row, strength };
    let sc: Vec<EventId> = graph.ids().filter(|&e| psc.is_sc(graph.event(e))).collect();
    let n = sc.len();
    let edges: Vec<bool> = sc.iter().flat_map(|&a| sc.iter().map(move |&b| psc.edge_plain(a, b))).collect();
    let mut state = vec![0; n];
    (0..n).all(|start| acyclic_from(start, n, &edges, &mut state))
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

#[derive(Clone, Copy)]
struct Psc<'a> {
    graph: &'a Graph,
    row: usize,
    strength: Strength,
}

impl Psc<'_> {
    /// A speculative read that reads from nothing yet is the last of its thread and has no edge to any event.
    fn is_sc(&self, event: &Event) -> bool {
        event.order == Order::SeqCst
            && !event.reads_nothing()
            && (event.kind == Kind::Fence || self.strength == Strength::All && event.is_access())
    }

    fn is_fence(&self, e: EventId) -> bool {
        self.graph.event(e).kind == Kind::Fence
    }

    /// Whether a `seq_cst` event that has changed is on a cycle.
    fn leads_back(&self, e: EventId, scratch: &mut PscScratch) -> bool {
        match scratch.sc.iter().position(|&other| other == e) {
            Some(start) => self.search(scratch, |psc, reach, sc, next| psc.edge(reach, sc, start, next), |_, b| b == e),
            None => false,
        }
    }

    /// Whether an access that has changed is on a cycle as an event after a fence, from which scb or eco leads on.
    fn leads_before(&self, e: EventId, scratch: &mut PscScratch) -> bool {
        let is_before = |psc: &Self, b: EventId| psc.is_fence(b) && psc.hb(b, e);
        if !self.graph.event(e).is_access() || !scratch.sc.iter().any(|&b| is_before(self, b)) {
            return false;
        }
        self.search(scratch, |psc, reach, sc, next| psc.edge_from_access(reach, sc, e, next, true), is_before)
    }

    /// Whether a search that starts with some edges comes to some event.
    fn search(
        &self,
        scratch: &mut PscScratch,
        starts: impl Fn(&Self, &mut FenceReach, &[EventId], usize) -> bool,
        is_wanted: impl Fn(&Self, EventId) -> bool,
    ) -> bool {
        let PscScratch { sc, reach, seen, stack } = scratch;
        seen.clear();
        seen.resize(sc.len(), false);
        stack.clear();
        let mut at = None;
        loop {
            for next in 0..sc.len() {
                if seen[next] {
                    continue;
                }
                let leads = match at {
                    None => starts(self, reach, sc, next),
                    Some(at) => self.edge(reach, sc, at, next),
                };
                if leads {
                    if is_wanted(self, sc[next]) {
                        return true;
                    }
                    seen[next] = true;
                    stack.push(next);
                }
            }
            at = stack.pop();
            if at.is_none() {
                return false;
            }
        }
    }

    /// An edge of psc_base or psc_F.
    fn edge(&self, reach: &mut FenceReach, sc: &[EventId], from: usize, to: usize) -> bool {
        let (a, b) = (sc[from], sc[to]);
        match (self.is_fence(a), self.is_fence(b)) {
            (true, true) => {
                self.hb(a, b) || {
                    reach.know_after(self.graph, self.row, from, a);
                    reach.know_before(self.graph, self.row, to, b);
                    reach.communicate(from, to)
                }
            }
            (true, false) => self.edge_from_fence(reach, from, a, b),
            (false, _) => self.edge_from_access(reach, sc, a, to, false),
        }
    }

    /// An edge of psc_base from a fence to an access.
    fn edge_from_fence(&self, reach: &mut FenceReach, from: usize, a: EventId, b: EventId) -> bool {
        let event = self.graph.event(b);
        if event.pred.is_event() && self.hb_or_same(a, event.pred) {
            return true;
        }
        let through = |x: EventId| x != b && self.hb(a, x) && self.hb(x, b);
        if self.hb(a, b) && self.accesses(b).any(through) {
            return true;
        }
        reach.know_after(self.graph, self.row, from, a);
        event.is_write() && reach.first_after(from, event.loc) < key(self.graph, b)
    }

    /// An edge of psc_base from an access to a `seq_cst` event; or, if it stands behind a fence, of psc_F as well.
    fn edge_from_access(&self, reach: &mut FenceReach, sc: &[EventId], a: EventId, to: usize, behind: bool) -> bool {
        let (b, event) = (sc[to], self.graph.event(a));
        if !self.is_fence(b) {
            return self.scb(a, b);
        }
        let leads_on = match self.graph.thread(event.thread).get(event.index as usize) {
            Some(&next) => self.hb_or_same(next, b),
            None => self.joins(event.thread).any(|j| self.hb(j, b)),
        };
        if leads_on {
            return true;
        }
        let through = |y: EventId| y != a && self.hb(a, y) && self.hb(y, b);
        if self.hb(a, b) && self.accesses(a).any(through) {
            return true;
        }
        reach.know_before(self.graph, self.row, to, b);
        let last = if behind { reach.last_before(to, event.loc) } else { reach.last_write_before(to, event.loc) };
        key(self.graph, a) < last
    }

    /// The accesses to the location of one.
    fn accesses(&self, e: EventId) -> impl Iterator<Item = EventId> {
        let location = self.graph.location(self.graph.event(e).loc);
        location.accesses()
    }

    fn joins(&self, thread: ThreadId) -> impl Iterator<Item = EventId> {
        self.graph.ids().filter(move |&j| {
            let event = self.graph.event(j);
            event.kind == Kind::Join && event.other() == thread
        })
    }

    /// An edge, by the definitions.
    fn edge_plain(&self, a: EventId, b: EventId) -> bool {
        if self.is_fence(a) && self.is_fence(b) && self.between_fences(a, b) {
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
        let is_source = |event: &Event| event.is_access() && !event.reads_nothing();
        let after_a = |x: EventId| is_source(self.graph.event(x)) && self.hb(a, x);
        self.hb(a, b)
            || self.graph.ids().filter(|&x| after_a(x)).any(|x| {
                let location = self.graph.location(self.graph.event(x).loc);
                location.accesses().any(|y| x != y && self.hb(y, b) && self.eco(x, y))
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
        let before = |x: EventId| self.graph.ids().any(|y| self.hb(y, b) && self.scb(x, y));
        let ends = |x: EventId| self.scb(x, b) || self.is_fence(b) && before(x);
        ends(a) || self.is_fence(a) && self.graph.ids().any(|x| self.hb(a, x) && ends(x))
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
        self.same_location(x, y)
            && !self.graph.event(x).reads_nothing()
            && self.graph.event(y).is_write()
            && self.graph.position(x) < self.graph.position(y)
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
            None => self.joins(a.thread).any(|j| self.hb_or_same(j, before)),
        }
    }
}

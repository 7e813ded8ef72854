//! What must hold of every graph, plainly: the axioms of the models as relations over the whole graph, and what the
//! exploration relies on.
//!
//! The exploration decides event by event with clocks and searches what is consistent (`clocks.rs`, `models/`). Here the
//! same is said once more, slowly, as the papers say it. Tests compare the two after every event
//! ([`Limits::check_invariants`](selvedge_machine::session::Limits)).
//!
//! | in papers | here |
//! |---|---|
//! | `a ∪ b`, `a ∩ b`, `a \ b`, `a ; b`, `a⁻¹` | `a.or(b)`, `a.and(b)`, `a.minus(b)`, `a.then(b)`, `a.inverse()` |
//! | `a?`, `a+`, `a*`, `[A]` | `a.maybe()`, `a.plus()`, `a.plus().maybe()`, `g.on(A)` |
//!
//! Initial writes are events here, one per location. Program order includes what creation and end of threads order.

use crate::MemoryModel;
use crate::event::{BOTTOM, Event, EventId, INIT, Kind};
use crate::graph::Graph;
use crate::request::Role;
use selvedge_ir::{EntityRef, Order};

/// Says what is wrong with a graph to which the next event is about to be added, if something is.
pub fn broken(model: MemoryModel, graph: &Graph) -> Option<String> {
    let parts = [lists(graph), reads_and_writes(graph), executed(graph)];
    if let Some(what) = parts.into_iter().flatten().next() {
        return Some(what);
    }
    let g = Relations::new(graph);
    clocks(graph, &g).or_else(|| inconsistent(model, &g).map(|axiom| format!("{}: {axiom}", model.name())))
}

/// The lists of a graph say the same as its events.
fn lists(graph: &Graph) -> Option<String> {
    let mut listed = 0;
    for thread in (0..graph.thread_limit()).map(selvedge_machine::ThreadId::new) {
        for (n, &e) in graph.thread(thread).iter().enumerate() {
            let event = graph.event(e);
            let pred = if n > 0 { Some(graph.thread(thread)[n - 1]) } else { graph.birth(thread) };
            if event.thread != thread || event.index as usize != n + 1 || pred.is_some_and(|pred| pred != event.pred) {
                return Some(format!("{e} is not event {} of {thread}", n + 1));
            }
            listed += 1;
        }
    }
    for loc in graph.locations() {
        let location = graph.location(loc);
        let misplaced = location.co.iter().enumerate().find(|&(n, &w)| {
            let event = graph.event(w);
            !event.is_write() || event.loc != loc || event.co as usize != n + 1
        });
        if let Some((n, w)) = misplaced {
            return Some(format!("{w} is not write {} of {loc}", n + 1));
        }
        let of = |kind| graph.ids().filter(move |&e| graph.event(e).kind == kind && graph.event(e).loc == loc);
        if of(Kind::Write).count() != location.co.len() {
            return Some(format!("the coherence order of {loc} is not complete"));
        }
        if !of(Kind::Read).eq(location.reads()) {
            return Some(format!("the reads of {loc} are not listed in the order in which they were added"));
        }
        let mut reads = location.reads().map(|r| graph.event(r));
        if !location.may_have_loads() && reads.any(|event| !event.exclusive && !event.blocked) {
            return Some(format!("a read of {loc} that does not write is not known as such"));
        }
    }
    if graph.ids().filter(|&e| graph.event(e).order == Order::SeqCst).count() != graph.seq_cst_events() {
        return Some("seq_cst events are counted wrong".to_owned());
    }
    (listed != graph.len()).then(|| "not every event belongs to a thread".to_owned())
}

/// Reads read what was written; exclusive writes stand right behind what their reads read from.
fn reads_and_writes(graph: &Graph) -> Option<String> {
    graph.ids().find_map(|e| {
        let event = graph.event(e);
        match event.kind {
            Kind::Read if event.rf == BOTTOM => (!event.blocked).then(|| format!("{e} reads nothing and goes on")),
            Kind::Read if event.rf == INIT || event.rf.is_event() => {
                let writes = |w: &Event| w.is_write() && w.loc == event.loc;
                let from_write = event.rf == INIT || writes(graph.event(event.rf));
                let same = from_write && graph.written(event.loc, event.rf) == event.value;
                (!same).then(|| format!("{e} does not read what was written"))
            }
            Kind::Read => Some(format!("{e} reads from nowhere")),
            Kind::Write if event.exclusive => {
                let read = graph.event(event.pred);
                let pair = read.is_read() && read.exclusive && read.thread == event.thread && read.loc == event.loc;
                let adjacent = pair && graph.position(event.pred) + 1 == event.co;
                (!adjacent).then(|| format!("atomicity: {e} does not follow what {} reads from", event.pred))
            }
            _ => None,
        }
    })
}

/// The list of executed events has all that threads have gone past, in an order in which a machine can make the steps.
fn executed(graph: &Graph) -> Option<String> {
    let mut done = vec![false; graph.len()];
    for &e in &graph.executed {
        let event = graph.event(e);
        if std::mem::replace(&mut done[e.index()], true) {
            return Some(format!("{e} is executed twice"));
        }
        let exclusive_read = [event.pred];
        let reads = if event.is_write() && event.exclusive { &exclusive_read[..] } else { graph.parts_of(e) };
        for read in reads {
            done[read.index()] = true;
        }
        // A read of what was never written is not executed: the thread halts there.
        let halts = |x: EventId| event.kind == Kind::Halt && graph.event(x).is_read();
        let mut before = graph.event(reads[0]).pred;
        // Turns are for the exploration only.
        while before.is_event() && graph.event(before).kind == Kind::Turn {
            before = graph.event(before).pred;
        }
        if before.is_event() && !done[before.index()] && !halts(before) {
            return Some(format!("{e} is executed before {before}"));
        }
        for read in reads.iter().map(|&read| graph.event(read)).filter(|read| read.is_read()) {
            // What reads a part of a plain access that is not over yet has a race with it.
            let source = read.rf;
            if source.is_event() && !done[source.index()] && graph.event(source).part.is_none() {
                return Some(format!("{e} is executed before {source}, which it reads from"));
            }
        }
        let rest = if event.kind == Kind::Join { graph.thread(event.other()) } else { &[] };
        let waits = |x: &EventId| graph.event(*x).is_read() || graph.event(*x).kind == Kind::Turn;
        if let Some(other) = rest.iter().find(|x| !done[x.index()] && !waits(x)) {
            return Some(format!("{e} is executed before {other}"));
        }
    }
    let passed = |&e: &EventId| {
        let event = graph.event(graph.newest_part(e));
        let halted = graph.thread(event.thread).get(event.index as usize).map(|&x| graph.event(x).kind);
        event.kind != Kind::Turn
            && !event.is_unfinished()
            && !(event.is_read() && (event.exclusive || event.blocked || halted == Some(Kind::Halt)))
    };
    graph.ids().filter(passed).find(|e| !done[e.index()]).map(|e| format!("{e} is not executed"))
}

/// Clocks are what they stand for.
fn clocks(graph: &Graph, g: &Relations<'_>) -> Option<String> {
    let porf = g.po.or(&g.rf).or(&g.phantom).plus();
    let hb = g.hb(g.synchronises_with());
    // What a signal orders is not in the relations.
    if graph.ids().any(|e| graph.event(e).role == Role::Wake) {
        return None;
    }
    for (a, b) in graph.ids().flat_map(|a| graph.ids().map(move |b| (a, b))) {
        if graph.porf(a, b) != (a == b || porf.has(a.index(), b.index())) {
            return Some(format!("the clock of {b} is wrong about {a} in po ∪ rf"));
        }
        if graph.hb(a, b) != (a == b || hb.has(a.index(), b.index())) {
            return Some(format!("the clock of {b} is wrong about {a} in hb"));
        }
    }
    None
}

/// The first axiom of a model that does not hold.
fn inconsistent(model: MemoryModel, g: &Relations<'_>) -> Option<&'static str> {
    let com = g.rf.or(&g.co).or(&g.fr);
    let eco = com.plus();
    let thin_air = (!g.po.or(&g.rf).or(&g.phantom).is_acyclic()).then_some("no thin air");
    // Atomicity, in every model: rmw ∩ (fr ; co) = ∅.
    let torn = (!g.rmw.and(&g.fr.then(&g.co)).is_empty()).then_some("atomicity");
    let broken = match model {
        MemoryModel::Sc => (!g.po.or(&com).is_acyclic()).then_some("acyclic(po ∪ rf ∪ co ∪ fr)"),
        MemoryModel::Tso => {
            let coherent = g.po.and(&g.loc).or(&com).is_acyclic();
            let external = g.rf.and(&g.ext);
            let ordered = g.ppo().or(&g.fence()).or(&external).or(&g.co).or(&g.fr).is_acyclic();
            let incoherent = (!coherent).then_some("acyclic(po-loc ∪ rf ∪ co ∪ fr)");
            incoherent.or((!ordered).then_some("acyclic(ppo ∪ fence ∪ rfe ∪ co ∪ fr)"))
        }
        MemoryModel::Ra => {
            let hb = g.po.or(&g.rf).plus();
            let incoherent = (!hb.then(&eco.maybe()).is_irreflexive()).then_some("irreflexive(hb ; eco?)");
            incoherent.or_else(|| (!g.psc_f(&hb, &eco).is_acyclic()).then_some("acyclic(psc_F)"))
        }
        MemoryModel::Rc11 => {
            let hb = g.hb(g.synchronises_with());
            let incoherent = (!hb.then(&eco.maybe()).is_irreflexive()).then_some("irreflexive(hb ; eco?)");
            let psc = || g.psc_base(&hb).or(&g.psc_f(&hb, &eco));
            incoherent.or_else(|| (!psc().is_acyclic()).then_some("acyclic(psc_base ∪ psc_F)"))
        }
    };
    thin_air.or(torn).or(broken)
}

/// The relations of a graph. Numbers below `graph.len()` are events; then come the initial writes of all locations.
struct Relations<'a> {
    graph: &'a Graph,
    po: Relation,
    rf: Relation,
    /// What phantom reads read from; it is in no axiom.
    phantom: Relation,
    co: Relation,
    fr: Relation,
    rmw: Relation,
    /// Accesses to one location.
    loc: Relation,
    /// Events of different threads.
    ext: Relation,
}

impl<'a> Relations<'a> {
    fn new(graph: &'a Graph) -> Relations<'a> {
        let events = graph.len();
        let size = events + graph.locations().count();
        let event = |n: usize| (n < events).then(|| graph.event(EventId::new(n)));
        let loc = |n: usize| match event(n) {
            Some(event) => event.is_access().then(|| event.loc.index()),
            None => Some(n - events),
        };
        let from = |e: &Event| if e.rf == INIT { events + e.loc.index() } else { e.rf.index() };
        // The place in coherence order; initial writes come first.
        let place = |n: usize| event(n).map_or(Some(0), |event| event.is_write().then_some(event.co));
        let pair = |test: &dyn Fn(usize, usize) -> bool| Relation::of(size, test);
        let within = |a: &Event, b: &Event| a.thread == b.thread && a.index < b.index;
        let starts = |a: &Event, b: &Event| a.kind == Kind::Spawn && a.other() == b.thread;
        let of_joined = |a: &Event, b: &Event| a.thread == b.other() || a.kind == Kind::Spawn && a.other() == b.other();
        let ends = |a: &Event, b: &Event| b.kind == Kind::Join && of_joined(a, b);
        let po = pair(&|a, b| match (event(a), event(b)) {
            (None, Some(_)) => true,
            (Some(a), Some(b)) => within(a, b) || starts(a, b) || ends(a, b),
            _ => false,
        });
        let reads = |w, read: &Event| read.is_read() && read.rf != BOTTOM && from(read) == w;
        let rf = pair(&|w, r| event(r).is_some_and(|read| !read.phantom && reads(w, read)));
        let co = pair(&|a, b| loc(a) == loc(b) && matches!((place(a), place(b)), (Some(a), Some(b)) if a < b));
        Relations {
            graph,
            po: po.plus(),
            fr: rf.inverse().then(&co),
            rmw: pair(&|r, w| event(w).is_some_and(|w| w.is_write() && w.exclusive && w.pred.index() == r)),
            loc: pair(&|a, b| loc(a).is_some() && loc(a) == loc(b)),
            ext: pair(&|a, b| event(a).map(|a| a.thread) != event(b).map(|b| b.thread)),
            phantom: pair(&|w, r| event(r).is_some_and(|read| read.phantom && reads(w, read))),
            rf,
            co,
        }
    }

    /// `[A]`: the identity on the events that a test is true for. Initial writes are in none of these sets.
    fn on(&self, test: impl Fn(&Event) -> bool) -> Relation {
        let is = |n: usize| n < self.graph.len() && test(self.graph.event(EventId::new(n)));
        Relation::of(self.po.size, |a, b| a == b && is(a))
    }

    /// sw = [E⊒rel] ; ([F] ; sb)? ; rs ; rf ; [R⊒rlx] ; (sb ; [F])? ; [E⊒acq] with rs = [W⊒rlx] ; (rf ; rmw)*. A fence
    /// makes up for accesses of its own thread only.
    fn synchronises_with(&self) -> Relation {
        let fences = self.on(|e| e.kind == Kind::Fence);
        let sb = self.po.minus(&self.ext);
        let release = self.on(|e| (e.is_write() || e.kind == Kind::Fence) && e.order.releases());
        let acquire = self.on(|e| (e.is_read() || e.kind == Kind::Fence) && e.order.acquires());
        let rs = self.on(|e| e.is_write() && e.order.is_atomic()).then(&self.rf.then(&self.rmw).plus().maybe());
        release
            .then(&fences.then(&sb).maybe())
            .then(&rs)
            .then(&self.rf)
            .then(&self.on(|e| e.is_read() && e.order.is_atomic()))
            .then(&sb.then(&fences).maybe())
            .then(&acquire)
    }

    /// hb = (sb ∪ sw)+.
    fn hb(&self, sw: Relation) -> Relation {
        self.po.or(&sw).plus()
    }

    /// psc_base = ([E^sc] ∪ [F^sc] ; hb?) ; scb ; ([E^sc] ∪ hb? ; [F^sc]) with
    /// scb = sb ∪ sb|≠loc ; hb ; sb|≠loc ∪ hb|loc ∪ co ∪ fr.
    fn psc_base(&self, hb: &Relation) -> Relation {
        let elsewhere = self.po.minus(&self.loc);
        let around = elsewhere.then(hb).then(&elsewhere);
        let scb = self.po.or(&around).or(&hb.and(&self.loc)).or(&self.co).or(&self.fr);
        let sc = |e: &Event| e.order == Order::SeqCst && (e.is_access() || e.kind == Kind::Fence);
        let (all, fences) = (self.on(sc), self.on(|e| sc(e) && e.kind == Kind::Fence));
        all.or(&fences.then(&hb.maybe())).then(&scb).then(&all.or(&hb.maybe().then(&fences)))
    }

    /// psc_F = [F^sc] ; (hb ∪ hb ; eco ; hb) ; [F^sc].
    fn psc_f(&self, hb: &Relation, eco: &Relation) -> Relation {
        let fences = self.on(|e| e.kind == Kind::Fence && e.order == Order::SeqCst);
        fences.then(&hb.or(&hb.then(eco).then(hb))).then(&fences)
    }

    /// Preserved program order of TSO: of accesses of a thread, all but a write before a read.
    fn ppo(&self) -> Relation {
        let accesses = self.on(Event::is_access);
        let (writes, reads) = (self.on(Event::is_write), self.on(Event::is_read));
        let own = self.po.minus(&self.ext);
        accesses.then(&own).then(&accesses).minus(&writes.then(&own).then(&reads))
    }

    /// What fences of TSO order: `seq_cst` fences, locked instructions, creation and end of threads, and a `seq_cst`
    /// store towards what comes after it.
    fn fence(&self) -> Relation {
        let both = self.on(|e| match e.kind {
            Kind::Fence => e.order == Order::SeqCst,
            Kind::Spawn | Kind::Join => true,
            _ => e.locked,
        });
        let behind = self.on(|e| e.is_write() && e.order == Order::SeqCst);
        both.then(&self.po).or(&self.po.then(&both)).or(&behind.then(&self.po))
    }
}

/// A relation over numbers below `size`, as a matrix of bits.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Relation {
    size: usize,
    /// Words per row.
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    /// The pairs that a test is true for.
    fn of(size: usize, test: impl Fn(usize, usize) -> bool) -> Relation {
        let words = size.div_ceil(64);
        let mut bits = vec![0; size * words];
        for (a, b) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
            bits[a * words + b / 64] |= u64::from(test(a, b)) << (b % 64);
        }
        Relation { size, words, bits }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    fn zip(&self, other: &Relation, op: impl Fn(u64, u64) -> u64) -> Relation {
        let bits = self.bits.iter().zip(&other.bits).map(|(&a, &b)| op(a, b)).collect();
        Relation { bits, ..*self }
    }

    fn or(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a | b)
    }

    fn and(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & b)
    }

    fn minus(&self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & !b)
    }

    fn inverse(&self) -> Relation {
        Relation::of(self.size, |a, b| self.has(b, a))
    }

    fn maybe(&self) -> Relation {
        Relation::of(self.size, |a, b| a == b || self.has(a, b))
    }

    /// Adds row `from` of another relation to row `to`.
    fn add_row(&mut self, to: usize, other: &[u64], from: usize) {
        for word in 0..self.words {
            self.bits[to * self.words + word] |= other[from * self.words + word];
        }
    }

    fn then(&self, other: &Relation) -> Relation {
        let mut result = Relation { bits: vec![0; self.bits.len()], ..*self };
        for (a, b) in (0..self.size).flat_map(|a| (0..self.size).map(move |b| (a, b))) {
            if self.has(a, b) {
                result.add_row(a, &other.bits, b);
            }
        }
        result
    }

    /// The transitive closure (Warshall 1962).
    fn plus(&self) -> Relation {
        let mut result = self.clone();
        for middle in 0..self.size {
            let row = result.bits.clone();
            for a in 0..self.size {
                if result.has(a, middle) {
                    result.add_row(a, &row, middle);
                }
            }
        }
        result
    }

    fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|n| !self.has(n, n))
    }

    fn is_acyclic(&self) -> bool {
        self.plus().is_irreflexive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(pairs: &[(usize, usize)]) -> Relation {
        Relation::of(70, |a, b| pairs.contains(&(a, b)))
    }

    #[test]
    fn operators_are_those_of_relation_algebra() {
        let (a, b) = (relation(&[(0, 1), (1, 2), (69, 0)]), relation(&[(1, 2), (2, 65)]));
        assert_eq!(a.or(&b), relation(&[(0, 1), (1, 2), (69, 0), (2, 65)]));
        assert_eq!(a.and(&b), relation(&[(1, 2)]));
        assert_eq!(a.minus(&b), relation(&[(0, 1), (69, 0)]));
        assert_eq!(a.then(&b), relation(&[(0, 2), (1, 65)]));
        assert_eq!(a.inverse(), relation(&[(1, 0), (2, 1), (0, 69)]));
        assert_eq!(a.plus(), relation(&[(0, 1), (0, 2), (1, 2), (69, 0), (69, 1), (69, 2)]));
        assert!(a.is_acyclic() && !a.or(&relation(&[(2, 69)])).is_acyclic());
        assert!(a.minus(&a).is_empty() && a.is_irreflexive() && !a.maybe().is_irreflexive());
    }

    /// Store buffering: each of two threads writes one of two locations and reads the other; nobody sees a write.
    fn store_buffering(order: Order) -> Graph {
        let mut graph = Graph::default();
        let threads = [1, 2].map(selvedge_machine::ThreadId::new);
        for (n, thread) in threads.into_iter().enumerate() {
            for (kind, loc) in [(Kind::Write, n), (Kind::Read, 1 - n)] {
                let loc = crate::event::LocId::new(loc);
                graph.touch(loc, || (0, false));
                let draft = graph.draft(thread, kind);
                let value = u64::from(kind == Kind::Write);
                let e = graph.add(Event { loc, value, order, rf: INIT, base: INIT, ..draft });
                graph.executed.push(e);
            }
        }
        graph
    }

    #[test]
    fn graphs_that_a_model_does_not_allow_are_told_by_their_axiom() {
        let relaxed = store_buffering(Order::Relaxed);
        let wrong = |model, graph| broken(model, graph).unwrap_or_default();
        assert_eq!(wrong(MemoryModel::Sc, &relaxed), "sc: acyclic(po ∪ rf ∪ co ∪ fr)");
        for model in [MemoryModel::Tso, MemoryModel::Ra, MemoryModel::Rc11] {
            assert_eq!(broken(model, &relaxed), None);
        }
        let strong = store_buffering(Order::SeqCst);
        assert_eq!(wrong(MemoryModel::Tso, &strong), "tso: acyclic(ppo ∪ fence ∪ rfe ∪ co ∪ fr)");
        assert_eq!(wrong(MemoryModel::Rc11, &strong), "rc11: acyclic(psc_base ∪ psc_F)");
    }

    #[test]
    fn what_the_lists_of_a_graph_say_wrongly_is_found() {
        let mut graph = store_buffering(Order::Relaxed);
        graph.executed.swap(0, 1);
        assert_eq!(broken(MemoryModel::Rc11, &graph).as_deref(), Some("e1 is executed before e0"));
        graph.executed.swap(0, 1);
        graph.executed.pop();
        assert_eq!(broken(MemoryModel::Rc11, &graph).as_deref(), Some("e3 is not executed"));
        let mut graph = store_buffering(Order::Relaxed);
        graph.set_choice(EventId::new(3), 5);
        assert_eq!(broken(MemoryModel::Rc11, &graph).as_deref(), Some("e3 does not read what was written"));
    }
}

//! The axioms of RA and of RC11 against a machine of messages and views, in the manner of Kang, Hur, Lahav, Vafeiadis,
//! Dreyer, "A promising semantics for relaxed-memory concurrency", POPL 2017, without promises.
//!
//! Memory is all messages (writes) ever sent, per location in coherence order. A *view* says per location which message
//! is the oldest that may still be read; reading or writing another one raises it. A write takes any place behind the view
//! of its thread, but not between a message and the read-modify-write that read it. A message carries a view: that of its
//! thread if it releases, otherwise that of the thread's last release fence; and if it belongs to a read-modify-write,
//! that of the message read, too. A read that acquires raises the view of its thread by that of the message; another keeps
//! it for the next acquire fence. Sequentially consistent fences raise their thread's view and a common one by each
//! other.
//!
//! There are no sequentially consistent accesses here: RA has none, and for RC11 they are replaced.

use crate::common::each_program;
use crate::families::files;
use crate::operational::{Store, run};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Addr, Op, ThreadId};
use selvedge_oracle::Program;
use selvedge_oracle::axiomatic::graph::{EventRef, Graph, Kind, Source};
use selvedge_oracle::axiomatic::render::render;
use selvedge_oracle::axiomatic::{GraphKey, Limits, Model, TooLarge, enumerate};
use selvedge_oracle::litmus::Inst;
use std::collections::{BTreeMap, BTreeSet};

/// Per location the oldest message that may be read; the initial one, if there is none.
type View = BTreeMap<Addr, EventRef>;

/// The place of a message in coherence order; the initial one has place 0.
fn place(graph: &Graph, addr: Addr, message: Source) -> usize {
    match message {
        Source::Init => 0,
        Source::Write(at) => 1 + graph.writes(addr).iter().position(|&other| other == at).unwrap(),
    }
}

fn lowest(graph: &Graph, view: &View, addr: Addr) -> usize {
    view.get(&addr).map_or(0, |&at| place(graph, addr, Source::Write(at)))
}

fn raise(graph: &Graph, view: &mut View, by: &View) {
    for (&addr, &at) in by {
        if place(graph, addr, Source::Write(at)) > lowest(graph, view, addr) {
            view.insert(addr, at);
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct ThreadViews {
    /// What the thread knows.
    current: View,
    /// What it will know at its next acquire fence, besides.
    kept: View,
    /// What it knew at its last release fence.
    fence: View,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Views {
    /// Whether all atomic accesses acquire and release.
    strong: bool,
    threads: Vec<ThreadViews>,
    /// What messages carry.
    carried: BTreeMap<EventRef, View>,
    /// What sequentially consistent fences know.
    common: View,
}

impl Store for Views {
    fn internal(&self, _: &Graph) -> Vec<(Views, Graph)> {
        Vec::new()
    }

    fn is_ready(&self, _: ThreadId, _: &Op, _: bool) -> bool {
        true
    }

    fn sources(&self, graph: &Graph, thread: ThreadId, addr: Addr, _: bool) -> Vec<Source> {
        let lowest = lowest(graph, &self.threads[thread.index()].current, addr);
        let writes = graph.writes(addr).iter().map(|&at| Source::Write(at));
        std::iter::once(Source::Init).chain(writes).skip(lowest).collect()
    }

    fn read(&mut self, graph: &Graph, at: EventRef, addr: Addr, from: Source, order: Order) {
        let Source::Write(message) = from else { return };
        let views = &mut self.threads[at.thread.index()];
        raise(graph, &mut views.current, &View::from([(addr, message)]));
        if order.acquires() || (self.strong && order.is_atomic()) {
            raise(graph, &mut views.current, &self.carried[&message]);
        } else if order.is_atomic() {
            raise(graph, &mut views.kept, &self.carried[&message]);
        }
    }

    fn write(
        &self,
        graph: &Graph,
        at: EventRef,
        addr: Addr,
        from: Option<Source>,
        order: Order,
    ) -> Vec<(Views, Graph)> {
        let exclusive = |at: EventRef| matches!(graph.event(at).kind, Kind::Write { exclusive: true, .. });
        let known = lowest(graph, &self.threads[at.thread.index()].current, addr);
        let mut results = Vec::new();
        for n in known..=graph.writes(addr).len() {
            let between = graph.writes(addr).get(n).is_some_and(|&next| exclusive(next));
            let elsewhere = from.is_some_and(|from| place(graph, addr, from) != n);
            if between || elsewhere {
                continue;
            }
            let (mut store, mut graph) = (self.clone(), graph.clone());
            graph.co.entry(addr).or_default().insert(n, at);
            let views = &mut store.threads[at.thread.index()];
            views.current.insert(addr, at);
            let mut carried = match order {
                Order::Plain => View::new(),
                order if order.releases() || self.strong => views.current.clone(),
                _ => views.fence.clone(),
            };
            if let Some(Source::Write(message)) = from {
                raise(&graph, &mut carried, &self.carried[&message]);
            }
            store.carried.insert(at, carried);
            results.push((store, graph));
        }
        results
    }

    fn fence(&mut self, graph: &Graph, thread: ThreadId, order: Order) {
        let views = &mut self.threads[thread.index()];
        if order.acquires() {
            let kept = views.kept.clone();
            raise(graph, &mut views.current, &kept);
        }
        if order == Order::SeqCst {
            raise(graph, &mut views.current, &self.common);
            self.common = views.current.clone();
        }
        if order.releases() {
            views.fence = views.current.clone();
        }
    }

    fn spawn(&mut self, _: &Graph, thread: ThreadId, child: ThreadId) {
        self.threads[child.index()].current = self.threads[thread.index()].current.clone();
    }

    fn join(&mut self, graph: &Graph, thread: ThreadId, target: ThreadId) {
        let known = self.threads[target.index()].current.clone();
        raise(graph, &mut self.threads[thread.index()].current, &known);
    }
}

/// Compares the machine with the axioms; how many graphs there are, none if there were too many runs.
fn compare(program: &Program, model: Model) -> Result<usize, String> {
    let found: BTreeSet<GraphKey> = match enumerate(program, model, Limits::default()) {
        Ok(summary) => summary.graphs.into_keys().collect(),
        Err(TooLarge::Unsupported(_)) => return Ok(0),
        Err(other) => return Err(format!("{other:?}")),
    };
    let threads = vec![ThreadViews::default(); program.threads.len()];
    let store = Views { strong: model == Model::Ra, threads, carried: BTreeMap::new(), common: View::new() };
    let Some(expected) = run(program, store) else { return Ok(0) };
    if let Some(key) = expected.difference(&found).next() {
        return Err(format!("{model}: the axioms do not allow what the machine does:\n{}", render(program, key)));
    }
    if let Some(key) = found.difference(&expected).next() {
        return Err(format!("{model}: the machine cannot do what the axioms allow:\n{}", render(program, key)));
    }
    Ok(found.len())
}

/// The program with accesses that acquire and release where they were sequentially consistent.
fn without_sc_accesses(program: &Program) -> Program {
    let mut program = program.clone();
    let weaken = |order: &mut Order| {
        if *order == Order::SeqCst {
            *order = Order::AcqRel;
        }
    };
    for inst in program.threads.iter_mut().flatten() {
        match inst {
            Inst::Load { order, .. } | Inst::Store { order, .. } | Inst::Rmw { order, .. } => weaken(order),
            Inst::Cas { success, failure, .. } => {
                weaken(success);
                weaken(failure);
            }
            _ => {}
        }
    }
    program
}

#[test]
fn the_axioms_of_ra_and_rc11_are_those_of_views() {
    let (mut programs, mut graphs) = (0, 0);
    each_program(60, |program| {
        let count = compare(program, Model::Ra)? + compare(&without_sc_accesses(program), Model::Rc11)?;
        programs += usize::from(count > 0);
        graphs += count;
        Ok(())
    });
    assert!(programs > 600 && graphs > 8_000, "{programs} programs with {graphs} graphs");
    for file in files() {
        let both =
            compare(&file.program, Model::Ra).and_then(|_| compare(&without_sc_accesses(&file.program), Model::Rc11));
        both.unwrap_or_else(|wrong| panic!("{}: {wrong}", file.name));
    }
}

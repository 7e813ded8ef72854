//! Machines that run programs step by step, to compare axioms with: what a machine can do is what its model allows.
//!
//! A machine is a [`Store`]: what memory is to threads. The driver tries all steps of all threads and of the store
//! itself, and notes the execution graph of every run: reads know from which write they read, and the store says when
//! a write takes its place in coherence order.

use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Access, AccessKind, Addr, Machine, Op, Status, ThreadId, truncate};
use selvedge_oracle::axiomatic::GraphKey;
use selvedge_oracle::axiomatic::graph::{Event, EventRef, Graph, Kind, Source};
use selvedge_oracle::litmus::Inst;
use selvedge_oracle::{LitmusMachine, Program};
use std::collections::{BTreeMap, BTreeSet};

/// Runs that come to more states than this are given up.
const MOST: usize = 20_000;

/// What memory is to threads.
pub trait Store: Clone + Ord {
    /// What can happen without any thread: the store and the coherence orders behind it.
    fn internal(&self, graph: &Graph) -> Vec<(Self, Graph)>;

    /// Whether a thread need not wait for the store before it does something. `locked` says whether that is a
    /// read-modify-write.
    fn is_ready(&self, thread: ThreadId, op: &Op, locked: bool) -> bool;

    /// From where a thread can read.
    fn sources(&self, graph: &Graph, thread: ThreadId, addr: Addr, locked: bool) -> Vec<Source>;

    /// A thread reads.
    fn read(&mut self, graph: &Graph, at: EventRef, addr: Addr, from: Source, order: Order);

    /// A thread writes; `from` is what the same step has read. All stores and coherence orders that may come of it.
    fn write(&self, graph: &Graph, at: EventRef, addr: Addr, from: Option<Source>, order: Order) -> Vec<(Self, Graph)>;

    /// A thread makes a fence.
    fn fence(&mut self, graph: &Graph, thread: ThreadId, order: Order);

    /// A thread creates another.
    fn spawn(&mut self, graph: &Graph, thread: ThreadId, child: ThreadId);

    /// A thread has seen the end of another.
    fn join(&mut self, graph: &Graph, thread: ThreadId, target: ThreadId);
}

/// The graphs of all runs; none if there are too many.
pub fn run<S: Store>(program: &Program, store: S) -> Option<BTreeSet<GraphKey>> {
    let mut machine = LitmusMachine::new(program.clone()).unwrap();
    let places = program.threads.iter().flatten().filter_map(Inst::place);
    let initial = places.map(|place| (machine.addr(place), program.vars[place.var.index()].init)).collect();
    // Main may fail before its first step; then it is stopped, and that is all.
    let _ = machine.start();
    let mut run = Run { machine, initial, seen: BTreeSet::new(), found: BTreeSet::new() };
    run.explore(Graph::new(program.threads.len()), store)?;
    Some(run.found)
}

struct Run<S> {
    machine: LitmusMachine,
    initial: BTreeMap<Addr, Option<u64>>,
    seen: BTreeSet<(Box<[u32]>, S)>,
    found: BTreeSet<GraphKey>,
}

impl<S: Store> Run<S> {
    fn explore(&mut self, graph: Graph, store: S) -> Option<()> {
        if !self.seen.insert((graph.signature(), store.clone())) {
            return Some(());
        }
        if self.seen.len() > MOST {
            return None;
        }
        let internal = store.internal(&graph);
        let able: Vec<ThreadId> = (0..graph.threads.len()).map(ThreadId::new).collect();
        let able: Vec<ThreadId> = able.into_iter().filter(|&thread| self.is_able(&graph, &store, thread)).collect();
        if internal.is_empty() && able.is_empty() {
            self.found.insert(GraphKey::of(&graph));
        }
        internal.into_iter().try_for_each(|(store, graph)| self.explore(graph, store))?;
        able.into_iter().try_for_each(|thread| self.step(&graph, &store, thread))
    }

    fn is_able(&self, graph: &Graph, store: &S, thread: ThreadId) -> bool {
        if self.machine.status(thread) != Status::Ready || graph.blocked(thread).is_some() {
            return false;
        }
        let op = self.machine.pending(thread);
        let joinable = match op {
            Op::Join { thread: target } => self.machine.status(*target) == Status::Finished,
            _ => true,
        };
        let locked = matches!(op, Op::Access(access) if access.reads() && access.kind != AccessKind::Load);
        joinable && store.is_ready(thread, op, locked)
    }

    fn step(&mut self, graph: &Graph, store: &S, thread: ThreadId) -> Option<()> {
        let (mut next, mut after) = (graph.clone(), store.clone());
        let plain = |kind| Event { kind, order: Order::Plain };
        match *self.machine.pending(thread) {
            Op::Access(access) if access.reads() => return self.read(graph, store, thread, &access),
            Op::Access(access) => {
                let AccessKind::Store { value } = access.kind else { unreachable!("{access:?} reads") };
                return self.write(graph, store, thread, &access, (value, None), 0);
            }
            Op::Choose { alternatives } => {
                return (0..u64::from(alternatives)).try_for_each(|value| {
                    let mut next = graph.clone();
                    next.push(thread, plain(Kind::Choice { value }));
                    self.go_on(next, store.clone(), thread, value)
                });
            }
            Op::Fence { order } => {
                after.fence(graph, thread, order);
                next.push(thread, Event { kind: Kind::Fence, order });
            }
            Op::Spawn { child } => {
                after.spawn(graph, thread, child);
                next.push(thread, plain(Kind::Spawn { child }));
            }
            Op::Join { thread: target } => {
                after.join(graph, thread, target);
                next.push(thread, plain(Kind::Join { thread: target }));
            }
            Op::Free { addr, size } => next.push(thread, plain(Kind::Free { addr, size })),
            other => unreachable!("{other:?}"),
        }
        self.go_on(next, after, thread, 0)
    }

    fn read(&mut self, graph: &Graph, store: &S, thread: ThreadId, access: &Access) -> Option<()> {
        let locked = access.kind != AccessKind::Load;
        for from in store.sources(graph, thread, access.addr, locked) {
            let known = match from {
                Source::Write(at) => Some(graph.written(at)),
                Source::Init => self.initial[&access.addr],
            };
            let value = known.unwrap_or(0);
            let blocked = known.zip(access.until).is_some_and(|(value, until)| !until.holds(value, access.size));
            let new = known.and_then(|value| access.written(value));
            let order = match access.kind {
                AccessKind::Cas { failure, .. } if new.is_none() => failure,
                _ => access.order,
            };
            let (mut next, mut after, at) = (graph.clone(), store.clone(), graph.next(thread));
            after.read(graph, at, access.addr, from, order);
            next.push(thread, Event { kind: Kind::Read { addr: access.addr, value, from, locked, blocked }, order });
            match new {
                _ if known.is_none() => {
                    self.machine.mark();
                    self.machine.halt(thread, Status::Stopped);
                    self.explore(next, after)?;
                    self.machine.undo();
                }
                _ if blocked => self.explore(next, after)?,
                None => self.go_on(next, after, thread, value)?,
                Some(new) => {
                    let access = Access { order, ..*access };
                    self.write(&next, &after, thread, &access, (new, Some(from)), value)?;
                }
            }
        }
        Some(())
    }

    fn write(
        &mut self,
        graph: &Graph,
        store: &S,
        thread: ThreadId,
        access: &Access,
        (value, from): (u64, Option<Source>),
        outcome: u64,
    ) -> Option<()> {
        let kind = Kind::Write { addr: access.addr, value: truncate(value, access.size), exclusive: from.is_some() };
        let mut next = graph.clone();
        next.push(thread, Event { kind, order: access.order });
        for (after, next) in store.write(&next, graph.next(thread), access.addr, from, access.order) {
            self.go_on(next, after, thread, outcome)?;
        }
        Some(())
    }

    fn go_on(&mut self, graph: Graph, store: S, thread: ThreadId, outcome: u64) -> Option<()> {
        self.machine.mark();
        // A thread that fails is stopped.
        let _ = self.machine.resume(thread, outcome);
        self.explore(graph, store)?;
        self.machine.undo();
        Some(())
    }
}

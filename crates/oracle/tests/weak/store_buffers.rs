//! The axioms of TSO against the x86-TSO machine: Owens, Sarkar, Sewell, "A better x86 memory model: x86-TSO", TPHOLs
//! 2009.
//!
//! Each thread has a queue of stores that are on their way to memory. A load takes the newest store of its own queue, or
//! what is in memory. Locked instructions, fences, creations and joins wait for the queue to be empty, and so does
//! whatever comes behind a sequentially consistent store. A thread has ended for others when its queue is empty.

use crate::common::each_program;
use crate::families::files;
use crate::operational::{Store, run};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Addr, Op, ThreadId};
use selvedge_oracle::Program;
use selvedge_oracle::axiomatic::graph::{EventRef, Graph, Source};
use selvedge_oracle::axiomatic::render::render;
use selvedge_oracle::axiomatic::{GraphKey, Limits, Model, TooLarge, enumerate};
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Buffers {
    /// Per thread its stores on their way, the oldest first.
    queues: Vec<Vec<(Addr, EventRef)>>,
    /// Per thread, whether its queue has to be empty before it goes on.
    drains: Vec<bool>,
}

impl Store for Buffers {
    fn internal(&self, graph: &Graph) -> Vec<(Buffers, Graph)> {
        let arrival = |thread: usize| {
            let (mut store, mut graph) = (self.clone(), graph.clone());
            let (addr, at) = store.queues[thread].remove(0);
            graph.co.entry(addr).or_default().push(at);
            (store, graph)
        };
        (0..self.queues.len()).filter(|&thread| !self.queues[thread].is_empty()).map(arrival).collect()
    }

    fn is_ready(&self, thread: ThreadId, op: &Op, locked: bool) -> bool {
        let empty = |thread: ThreadId| self.queues[thread.index()].is_empty();
        let waits = match op {
            Op::Fence { order } => *order == Order::SeqCst,
            Op::Spawn { .. } => true,
            Op::Join { thread: target } if !empty(*target) => return false,
            Op::Join { .. } => true,
            _ => locked,
        };
        empty(thread) || !(waits || self.drains[thread.index()])
    }

    fn sources(&self, graph: &Graph, thread: ThreadId, addr: Addr, _: bool) -> Vec<Source> {
        let own = self.queues[thread.index()].iter().rev().find(|(other, _)| *other == addr);
        vec![own.map_or(graph.newest(addr), |&(_, at)| Source::Write(at))]
    }

    fn read(&mut self, _: &Graph, _: EventRef, _: Addr, _: Source, _: Order) {}

    fn write(
        &self,
        graph: &Graph,
        at: EventRef,
        addr: Addr,
        from: Option<Source>,
        order: Order,
    ) -> Vec<(Buffers, Graph)> {
        let (mut store, mut graph) = (self.clone(), graph.clone());
        let thread = at.thread.index();
        if from.is_some() {
            graph.co.entry(addr).or_default().push(at);
        } else {
            store.queues[thread].push((addr, at));
            store.drains[thread] = order == Order::SeqCst;
        }
        vec![(store, graph)]
    }

    fn fence(&mut self, _: &Graph, _: ThreadId, _: Order) {}

    fn spawn(&mut self, _: &Graph, _: ThreadId, _: ThreadId) {}

    fn join(&mut self, _: &Graph, _: ThreadId, _: ThreadId) {}
}

/// Compares the machine with the axioms; how many graphs there are, none if there were too many runs.
fn compare(program: &Program) -> Result<usize, String> {
    let threads = program.threads.len();
    let found: BTreeSet<GraphKey> = match enumerate(program, Model::Tso, Limits::default()) {
        Ok(summary) => summary.graphs.into_keys().collect(),
        Err(TooLarge::Unsupported(_)) => return Ok(0),
        Err(other) => return Err(format!("{other:?}")),
    };
    let store = Buffers { queues: vec![Vec::new(); threads], drains: vec![false; threads] };
    let Some(expected) = run(program, store) else { return Ok(0) };
    if let Some(key) = expected.difference(&found).next() {
        return Err(format!("the axioms do not allow what the machine does:\n{}", render(program, key)));
    }
    if let Some(key) = found.difference(&expected).next() {
        return Err(format!("the machine cannot do what the axioms allow:\n{}", render(program, key)));
    }
    Ok(found.len())
}

#[test]
fn the_axioms_of_tso_are_those_of_store_buffers() {
    let (mut programs, mut graphs) = (0, 0);
    each_program(60, |program| {
        let count = compare(program)?;
        programs += usize::from(count > 0);
        graphs += count;
        Ok(())
    });
    assert!(programs > 600 && graphs > 4_000, "{programs} programs with {graphs} graphs");
    for file in files() {
        compare(&file.program).unwrap_or_else(|wrong| panic!("{}: {wrong}", file.name));
    }
}

//! Which step of an execution comes before which, and why.
//!
//! The order within a thread is left to whoever draws it; the edges here cross threads (or link a read to the write of
//! its own thread that it saw). They are recomputed from a replay by following its steps once, byte by byte, so they
//! depend on no engine.

use selvedge_ir::EntityRef;
use selvedge_machine::schedule::{EventRecord, Replay};
use selvedge_machine::{Access, Addr, Done, Op, Purpose, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Why one step comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// The second reads what the first wrote.
    ReadsFrom,
    /// The second acquires what the first released.
    Lock,
    /// The first creates the thread of the second.
    Spawn,
    /// The first is the last of a thread that the second joins.
    Join,
    /// The first signals the condition variable that the second waits on.
    Signal,
}

impl Why {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Why::ReadsFrom => "rf",
            Why::Lock => "lock",
            Why::Spawn => "spawn",
            Why::Join => "join",
            Why::Signal => "signal",
        }
    }
}

/// An edge between two steps, given by their positions in the replay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The earlier step.
    pub from: usize,
    /// The later step.
    pub to: usize,
    /// Why.
    pub why: Why,
}

/// All edges of an execution, in order.
pub fn edges(replay: &Replay) -> Vec<Edge> {
    let mut state = State::default();
    for (n, event) in replay.events.iter().enumerate() {
        state.step(n, event);
    }
    state.edges.into_iter().collect()
}

#[derive(Default)]
struct State {
    edges: BTreeSet<Edge>,
    /// The last step of each thread.
    last: HashMap<ThreadId, usize>,
    /// The step that created a thread which has not made a step yet.
    created: HashMap<ThreadId, usize>,
    /// The last write to each byte.
    writes: HashMap<u64, usize>,
    /// The last release of each lock.
    releases: HashMap<Addr, usize>,
    /// The threads that wait on each condition variable, with the step that woke them.
    waiters: BTreeMap<Addr, BTreeMap<usize, Option<usize>>>,
}

impl State {
    fn step(&mut self, n: usize, event: &EventRecord) {
        if let Some(from) = self.created.remove(&event.thread) {
            self.edge(from, n, Why::Spawn);
        }
        match event.op {
            Op::Access(access) => self.access(n, &access, event.done),
            Op::Spawn { child } => {
                self.created.insert(child, n);
            }
            Op::Join { thread } => {
                let from = self.last.get(&thread).or_else(|| self.created.get(&thread)).copied();
                from.into_iter().for_each(|from| self.edge(from, n, Why::Join));
            }
            Op::CondWait { cond } => {
                self.waiters.entry(cond).or_default().insert(event.thread.index(), None);
            }
            Op::CondWake { cond, .. } => {
                let woken_by = self.waiters.entry(cond).or_default().remove(&event.thread.index()).flatten();
                woken_by.into_iter().for_each(|from| self.edge(from, n, Why::Signal));
            }
            Op::CondSignal { cond } if event.done.old > 0 => self.signal(cond, n, Some(event.choice as usize)),
            Op::CondBroadcast { cond } => self.signal(cond, n, None),
            _ => {}
        }
        for (access, done) in &event.section {
            self.access(n, access, *done);
        }
        self.last.insert(event.thread, n);
    }

    fn access(&mut self, n: usize, access: &Access, done: Done) {
        if access.purpose == Purpose::Data || access.purpose == Purpose::Sync {
            let bytes = access.addr.0..access.addr.0 + u64::from(access.size);
            if access.reads() {
                let sources: BTreeSet<usize> = bytes.clone().filter_map(|b| self.writes.get(&b).copied()).collect();
                sources.into_iter().for_each(|from| self.edge(from, n, Why::ReadsFrom));
            }
            if done.new.is_some() {
                self.writes.extend(bytes.map(|b| (b, n)));
            }
            return;
        }
        if access.purpose == Purpose::Lock
            && let Some(&from) = self.releases.get(&access.addr)
        {
            self.edge(from, n, Why::Lock);
        }
        if access.purpose == Purpose::Unlock {
            self.releases.insert(access.addr, n);
        }
    }

    /// Wakes the n-th of the threads that wait, in the order of their numbers (which is what a choice means), or all.
    fn signal(&mut self, cond: Addr, n: usize, choice: Option<usize>) {
        let asleep = self.waiters.entry(cond).or_default().values_mut().filter(|woken_by| woken_by.is_none());
        match choice {
            Some(choice) => asleep.skip(choice).take(1).for_each(|woken_by| *woken_by = Some(n)),
            None => asleep.for_each(|woken_by| *woken_by = Some(n)),
        }
    }

    fn edge(&mut self, from: usize, to: usize, why: Why) {
        debug_assert!(from < to, "an edge points forward in the execution");
        self.edges.insert(Edge { from, to, why });
    }
}

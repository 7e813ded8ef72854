//! Which step of an execution comes before which, and why.
//!
//! The order within a thread is left to whoever draws it; the edges here cross threads (or link a read to the write of
//! its own thread that it saw). They are recomputed from a replay by following its steps once, byte by byte, so they
//! depend on no engine. If no interleaving explains the execution, its steps themselves say what they read from and where
//! their writes stand.
//!
//! Coherence is drawn from a write to the next one of the same bytes, from-reads from a read to the write that overwrites
//! what was read; both only between threads, and only for the program's own data.

use selvedge_ir::EntityRef;
use selvedge_machine::schedule::{EventRecord, Replay, Source};
use selvedge_machine::{Access, Addr, Done, Op, Purpose, ThreadId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Why one step comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// The second reads what the first wrote.
    ReadsFrom,
    /// The second overwrites what the first wrote.
    Coherence,
    /// The second overwrites what the first read.
    FromRead,
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
            Why::Coherence => "co",
            Why::FromRead => "fr",
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
    /// The step that comes first, if there is an interleaving.
    pub from: usize,
    /// The other one.
    pub to: usize,
    /// Why.
    pub why: Why,
}

/// All edges of an execution, in order.
pub fn edges(replay: &Replay) -> Vec<Edge> {
    let mut state = State { weak: replay.weak, ..State::default() };
    for (n, event) in replay.events.iter().enumerate() {
        state.step(n, event);
    }
    if replay.weak {
        link(replay, &mut state.edges);
    }
    // Within a thread these follow from the order of its steps; where one reads from the other, that says more.
    let read: BTreeSet<(usize, usize)> =
        state.edges.iter().filter(|e| e.why == Why::ReadsFrom).map(|e| (e.from, e.to)).collect();
    let says_more = |edge: &Edge| match edge.why {
        Why::Coherence | Why::FromRead => {
            replay.events[edge.from].thread != replay.events[edge.to].thread && !read.contains(&(edge.from, edge.to))
        }
        _ => true,
    };
    state.edges.into_iter().filter(says_more).collect()
}

/// The edges that the steps of an execution which is no interleaving tell of themselves.
fn link(replay: &Replay, edges: &mut BTreeSet<Edge>) {
    let mut writes: BTreeMap<(Addr, u32), usize> = BTreeMap::new();
    for (n, event) in replay.events.iter().enumerate() {
        if let Some(addr) = data(event).filter(|_| event.link.place > 0) {
            writes.insert((addr, event.link.place), n);
        }
    }
    for (to, event) in replay.events.iter().enumerate() {
        let Op::Access(access) = event.op else { continue };
        let source = match event.link.from {
            Some(Source::Step(from)) => Some(from),
            _ => None,
        };
        let Some(addr) = data(event) else {
            let from = source.filter(|_| access.purpose == Purpose::Lock);
            edges.extend(from.map(|from| Edge { from, to, why: Why::Lock }));
            continue;
        };
        edges.extend(source.map(|from| Edge { from, to, why: Why::ReadsFrom }));
        let place = |n: usize| replay.events[n].link.place;
        if event.link.from.is_some() {
            let overwriter = writes.get(&(addr, source.map_or(0, place) + 1)).copied().filter(|&w| w != to);
            edges.extend(overwriter.map(|w| Edge { from: to, to: w, why: Why::FromRead }));
        }
        if event.link.place > 0 {
            let next = writes.get(&(addr, event.link.place + 1)).copied();
            edges.extend(next.map(|w| Edge { from: to, to: w, why: Why::Coherence }));
        }
    }
}

/// The address of an access to the program's own data.
fn data(event: &EventRecord) -> Option<Addr> {
    match event.op {
        Op::Access(access) if is_data(&access) => Some(access.addr),
        _ => None,
    }
}

fn is_data(access: &Access) -> bool {
    access.purpose == Purpose::Data || access.purpose == Purpose::Sync
}

#[derive(Default)]
struct State {
    /// Whether what accesses read does not follow from their order.
    weak: bool,
    edges: BTreeSet<Edge>,
    /// The last step of each thread.
    last: HashMap<ThreadId, usize>,
    /// The step that created a thread which has not made a step yet.
    created: HashMap<ThreadId, usize>,
    /// The last write to each byte.
    writes: HashMap<u64, usize>,
    /// The reads of each byte since then.
    reads: HashMap<u64, Vec<usize>>,
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
            Op::Access(access) if !self.weak => self.access(n, &access, event.done),
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
        if is_data(access) {
            for byte in access.addr.0..access.addr.0 + u64::from(access.size) {
                self.access_byte(n, byte, access.reads(), done.new.is_some());
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

    fn access_byte(&mut self, n: usize, byte: u64, reads: bool, writes: bool) {
        let newest = self.writes.get(&byte).copied();
        if reads {
            newest.into_iter().for_each(|from| self.edge(from, n, Why::ReadsFrom));
        }
        if writes {
            newest.into_iter().for_each(|from| self.edge(from, n, Why::Coherence));
            for reader in self.reads.remove(&byte).unwrap_or_default() {
                self.edge(reader, n, Why::FromRead);
            }
            self.writes.insert(byte, n);
        }
        if reads && !writes {
            self.reads.entry(byte).or_default().push(n);
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

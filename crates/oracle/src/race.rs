//! Data races as the C11 standard has them, under interleaving semantics.
//!
//! Two accesses of different threads *conflict* if their bytes overlap and one of them writes. They *race* if at least
//! one of them is not atomic and neither comes before the other in *sync-happens-before*: the transitive closure of
//! program order, of creation and join of threads, of signal before wake-up, and of synchronisation:
//!
//! - an atomic write releases what comes before it in its thread if its order releases, and otherwise what comes before
//!   the last release fence of its thread, if there is one;
//! - a read-modify-write passes on what the write released that it reads from (C++20, 6.9.2.2: release sequences);
//! - an atomic read acquires what was released by the write that it reads from: at once if its order acquires, and
//!   otherwise at the next acquire fence of its thread.
//!
//! Everything is done byte by byte. An atomic section is one step; the accesses in it count as sequentially consistent
//! atomics. `Free` is a plain write of the whole object. Accesses that cannot be performed do not count.
//!
//! Whether an execution has a race is the same for all equivalent executions, since these agree on who reads from whom.

use crate::dependence::{Event, StepSet, Touch, Trace, ordered};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Access, AccessKind, Done, Op};
use std::collections::HashMap;

/// The places of two steps of an execution that race, if there are such.
pub fn find_race(trace: &Trace) -> Option<(usize, usize)> {
    let before = sync_happens_before(trace);
    let racing = |i: usize, j: usize| before[j] >> i & 1 == 0 && conflict(&trace.events[i], &trace.events[j]);
    (0..trace.events.len()).flat_map(|j| (0..j).map(move |i| (i, j))).find(|&(i, j)| racing(i, j))
}

/// Whether two steps make conflicting accesses, one of which is not atomic.
fn conflict(a: &Event, b: &Event) -> bool {
    let (ours, theirs) = (performed(a), performed(b));
    if let Op::Free { addr, size } = b.op
        && !b.faulty
    {
        let freed = Touch { first: addr.0, end: addr.0 + size, writes: true };
        return ours.iter().any(|(x, dx)| Touch::of(x, dx).conflicts(freed));
    }
    ours.iter().any(|(x, dx)| {
        let plain = |y: &Access| !x.order.is_atomic() || !y.order.is_atomic();
        theirs.iter().any(|(y, dy)| plain(y) && Touch::of(x, dx).conflicts(Touch::of(y, dy)))
    })
}

/// The accesses that a step performs.
fn performed(event: &Event) -> Vec<(Access, Done)> {
    match event.op {
        Op::Access(access) if !event.faulty => vec![(access, event.done)],
        _ => event.section.iter().map(|(access, done)| (Access { order: Order::SeqCst, ..*access }, *done)).collect(),
    }
}

/// Per step, all steps that come before it in sync-happens-before.
fn sync_happens_before(trace: &Trace) -> Vec<StepSet> {
    let threads = trace.events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(0);
    let mut state = State { threads: vec![ThreadSync::default(); threads], released: HashMap::new() };
    let mut before: Vec<StepSet> = Vec::new();
    for (at, event) in trace.events.iter().enumerate() {
        let mut known = state.threads[event.thread.index()].known;
        for (i, earlier) in trace.events[..at].iter().enumerate() {
            if ordered(i, earlier, event) {
                known |= before[i] | 1 << i;
            }
        }
        known = state.step(event, known, 1 << at);
        before.push(known);
        state.threads[event.thread.index()].known = known | 1 << at;
    }
    before
}

#[derive(Clone, Default)]
struct ThreadSync {
    /// What comes before the next step.
    known: StepSet,
    /// What the last release fence releases.
    fence: StepSet,
    /// What the next acquire fence acquires.
    read: StepSet,
}

struct State {
    threads: Vec<ThreadSync>,
    /// Per byte, what the last write released.
    released: HashMap<u64, StepSet>,
}

impl State {
    /// Makes a step: what was known before it, and by it.
    fn step(&mut self, event: &Event, mut known: StepSet, own: StepSet) -> StepSet {
        let thread = event.thread.index();
        if let Op::Fence { order } = event.op {
            if order.acquires() {
                known |= self.threads[thread].read;
            }
            if order.releases() {
                self.threads[thread].fence = known | own;
            }
        }
        for (access, done) in performed(event) {
            known = self.access(thread, &access, &done, known, own);
        }
        known
    }

    fn access(&mut self, thread: usize, access: &Access, done: &Done, mut known: StepSet, own: StepSet) -> StepSet {
        let touch = Touch::of(access, done);
        let order = match access.kind {
            AccessKind::Cas { failure, .. } if !touch.writes => failure,
            _ => access.order,
        };
        let bytes = touch.first..touch.end;
        if access.reads() && order.is_atomic() {
            let read = bytes.clone().fold(0, |set, byte| set | self.released.get(&byte).copied().unwrap_or(0));
            self.threads[thread].read |= read;
            if order.acquires() {
                known |= read;
            }
        }
        if touch.writes {
            let released = match order {
                Order::Plain => 0,
                order if order.releases() => known | own,
                _ => self.threads[thread].fence,
            };
            for byte in bytes {
                let passed_on = match access.kind {
                    AccessKind::Rmw { .. } | AccessKind::Cas { .. } if order.is_atomic() => {
                        self.released.get(&byte).copied().unwrap_or(0)
                    }
                    _ => 0,
                };
                self.released.insert(byte, released | passed_on);
            }
        }
        known
    }
}

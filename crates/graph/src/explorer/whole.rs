//! Attempts that fail somewhere on the way: is what the thread would start again the attempt?
//!
//! An attempt that fails is dropped, and its thread waits where it began (`composite.rs`). Nothing is lost by that if the
//! thread would begin it again. But what it would start again may be the newest part only:
//!
//! ```text
//! while lock.compare_exchange(0, 1).is_err() {
//!     while y.load() == 1 { spin_loop() }
//! }
//! ```
//!
//! An attempt whose exchange fails, and which then finds 1 in `y`, spins at `y` for ever if nobody writes that again, whatever
//! becomes of the lock. From where the attempt began it would get on with what is in the lock in the end. If it were dropped,
//! the livelock would be missed.
//!
//! So let P be the reads of an attempt that has failed before the iteration I that the thread would start again. If the thread,
//! where the attempt began, would do I as well, told the same, and fail, then in every execution in which it is stuck with
//! I, it is stuck without P as well, and that is found: with the coherence-last values the attempt fails. That is tried out, once
//! for each I and all that the thread has done and learned before. If it does not hold, attempts that begin there are not taken
//! together.

use super::Explorer;
use crate::event::{EventId, Kind, LocId};
use crate::models::Model;
use crate::past;
use crate::request::{self, Request, Role};
use rustc_hash::FxHashMap;
use selvedge_machine::{Access, Machine, Op, Outcome, Status, ThreadId, truncate};

/// What was tried out: by numbers for what comes before an attempt (`past.rs`), and what is read in the iteration.
pub(super) type Wholes = FxHashMap<(u64, Vec<(LocId, Outcome)>), bool>;

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Whether what a thread would start again may be a part only of what it has read since it took its turn.
    pub(super) fn may_be_a_part(&self, thread: ThreadId, turn: EventId) -> bool {
        let done = self.done_since(turn);
        self.newest_part(thread)
            .is_some_and(|newest| newest < done.len() && self.may_be_current(&done[done.len() - newest..]))
    }

    /// Whether all that is read may be up to date at the same time. If not, the iteration comes to its end once, and the thread
    /// is not stuck in it.
    fn may_be_current(&self, events: &[EventId]) -> bool {
        let reads = || events.iter().map(|&e| self.graph().event(e)).filter(|event| event.is_read());
        reads().all(|one| reads().all(|other| one.loc != other.loc || one.value == other.value))
    }

    /// How many of its newest events are of the iteration that a thread would start again, if that is known.
    fn newest_part(&self, thread: ThreadId) -> Option<usize> {
        let machine = &self.runner.machine;
        let steps = machine.iteration(thread)?;
        match machine.status(thread) {
            Status::AssumeBlocked => Some(steps),
            // The read that it waits with is an event, but no step yet.
            Status::Ready => Some(steps + 1),
            _ => None,
        }
    }

    /// What the thread of a turn has done since: reads and fences.
    fn done_since(&self, turn: EventId) -> &[EventId] {
        let event = self.graph().event(turn);
        &self.graph().thread(event.thread)[event.index as usize..]
    }

    /// Whether the iteration that the thread of a turn would start again fails as well where the attempt began.
    pub(super) fn is_whole(&mut self, turn: EventId) -> bool {
        let graph = self.graph();
        let thread = graph.event(turn).thread;
        let reads = self.done_since(turn);
        let Some(&first) = reads.first() else { return true };
        let newest = self.newest_part(thread).unwrap_or(reads.len()).min(reads.len());
        let newest = &reads[reads.len() - newest..];
        if newest.iter().any(|&e| graph.event(e).part.is_some()) {
            return false;
        }
        let told = newest.iter().map(|&e| {
            let event = graph.event(e);
            match event.kind {
                Kind::Read => (event.loc, request::outcome(event.role, thread, event.value)),
                _ => (event.loc, 0),
            }
        });
        let told: Vec<(LocId, Outcome)> = told.collect();
        let is_kept = !graph.without_past;
        let key = (past::before_next(graph, thread, turn), told);
        if let Some(&known) = self.composites.whole.get(&key).filter(|_| is_kept) {
            return known;
        }
        self.runner.bring_before(&self.frames.top.graph, first);
        self.runner.machine.mark();
        let fails = self.fails_if_told(thread, &key.1);
        self.runner.machine.undo();
        if is_kept {
            self.composites.whole.insert(key, fails);
        }
        fails
    }

    /// Whether a thread fails that is told the outcomes of an iteration. That it is one may be seen only when it is made twice.
    fn fails_if_told(&mut self, thread: ThreadId, told: &[(LocId, Outcome)]) -> bool {
        for &(loc, outcome) in told.iter().chain(told) {
            let machine = &self.runner.machine;
            if machine.status(thread) != Status::Ready {
                break;
            }
            let same = match Request::of(thread, machine.pending(thread)) {
                Some(request) if self.locations.get(request.access.addr) != Some(loc) => false,
                // It waits with this read.
                Some(Request { access: Access { until: Some(until), size, .. }, .. })
                    if !until.holds(outcome, size) =>
                {
                    return until.retry;
                }
                Some(request) => request.reads() && !changes(&request, outcome),
                None => matches!(machine.pending(thread), Op::Fence { .. }),
            };
            if !same {
                return false;
            }
            if self.runner.machine.resume(thread, outcome).is_err() {
                return false;
            }
        }
        let machine = &self.runner.machine;
        machine.status(thread) == Status::AssumeBlocked && machine.spins(thread)
    }
}

/// Whether an access, told this, has changed something: then the thread has not only looked.
fn changes(request: &Request, outcome: Outcome) -> bool {
    let Access { size, .. } = request.access;
    match request.role {
        Role::Memory => {
            request.access.written(outcome).is_some_and(|new| truncate(new, size) != truncate(outcome, size))
        }
        Role::Wait | Role::Wake => true,
        // How many were woken.
        Role::Signal | Role::Broadcast => outcome != 0,
    }
}

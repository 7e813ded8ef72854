//! The last read of an attempt that fails, as a read that waits.
//!
//! Attempts in which a thread may sleep are not taken together (`composite.rs`): a mutex that marks its word, waits to be
//! woken, and tries again. Their reads are explored one by one. With the last one, such an attempt fails or gets on, and what
//! was read before is fixed then. So this read is an await in the sense of the paper (R^awt): a read, followed by an
//! assumption about the value that was read. If that fails, it is not different from a load in a loop, and all that is
//! known of such reads holds: it does not read from an old write with which it would fail, since it could never be
//! revisited (section 3.1), and it is read again in place when something is written (section 3.2). What comes before it in
//! the attempt are reads like any other, which are revisited one by one.
//!
//! Which reads those are is found out: when an execution is left blocked in vain by an attempt that is not suitable for being
//! taken together, its last read is noted by its place in the program, and the exploration starts again. Whether such a
//! read fails with a value, the machine tells when it is tried out.
//!
//! In the graph, a read that fails is blocked, and its thread stands at it. When the graph is full it is executed all the
//! same, because the thread is to be found where it is: at the end of an attempt, some of whose reads may be out of date.

use super::Explorer;
use super::sites::Sites;
use crate::event::EventId;
use crate::models::Model;
use crate::request::{self, Request};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::session::Over;
use selvedge_machine::{Access, AccessKind, Machine, Op, SourceSpan, Status, ThreadId};
use std::mem::{Discriminant, discriminant};

/// Where attempts end that are not taken together.
#[derive(Clone, Default, Debug)]
pub(crate) struct LastReads {
    pub sites: Sites,
    /// What kinds of accesses there are: to find out where a thread stands takes longer.
    kinds: Vec<(Discriminant<AccessKind>, Order)>,
}

impl LastReads {
    /// Notes an access, and says whether it was not known.
    pub fn insert(&mut self, site: SourceSpan, access: &Access) -> bool {
        let kind = (discriminant(&access.kind), access.order);
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        self.sites.insert(site)
    }

    fn contains<M: Machine>(&self, access: &Access, machine: &M, thread: ThreadId) -> bool {
        self.kinds.contains(&(discriminant(&access.kind), access.order)) && self.sites.contains(machine, thread)
    }
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Whether a thread stands at a read with which an attempt may fail.
    #[inline]
    pub(super) fn may_start_again(&self, thread: ThreadId) -> bool {
        let (machine, last_reads) = (&self.runner.machine, &self.composites.attempts.last_reads);
        if last_reads.sites.is_empty() {
            return false;
        }
        let Op::Access(access) = machine.pending(thread) else { return false };
        access.reads() && last_reads.contains(access, machine, thread)
    }

    /// Whether an attempt fails if its thread, which stands at a read that [may](Explorer::may_start_again), is told a value.
    pub(super) fn starts_again(&mut self, thread: ThreadId, request: &Request, value: u64) -> bool {
        if self.composites.attempts.last_reads.sites.is_empty() {
            return false;
        }
        let machine = &mut self.runner.machine;
        machine.mark();
        let goes_on = machine.resume(thread, request::outcome(request.role, thread, value)).is_ok();
        // Whether it would start again or has assumed what does not hold makes no difference: it does not get on.
        let fails = goes_on && machine.status(thread) == Status::AssumeBlocked;
        // In a loop that reads nothing it stays, whatever becomes of this read.
        let fails = fails && machine.iteration(thread) != Some(0);
        machine.undo();
        fails
    }

    /// The graph is full: attempts that have failed come to their end.
    pub(super) fn end_attempts(&mut self) -> Result<(), Over> {
        if self.composites.attempts.last_reads.sites.is_empty() {
            return Ok(());
        }
        let failed = |thread: ThreadId| -> Option<EventId> {
            let last = self.graph().last(thread)?;
            let event = self.graph().event(last);
            let stands = self.runner.machine.status(thread) == Status::Ready && event.blocked;
            // If it waits for a condition of its own that does not hold, it sleeps, and has not failed.
            let sleeps = || self.pending_request(thread).flags(thread, event.value).blocked;
            (stands && self.may_start_again(thread) && !sleeps()).then_some(last)
        };
        let failed: Vec<EventId> = (0..self.graph().thread_limit()).map(ThreadId::new).filter_map(failed).collect();
        self.frame().graph.executed.extend(failed);
        self.catch_up()
    }
}

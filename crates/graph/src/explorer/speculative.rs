//! Confirmation loops, one confirmation at a time (section 3.3).
//!
//! A speculative read is confirmed by a compare-and-exchange that reads from the same write. Two speculative reads of
//! one write cannot both be confirmed, so when a second one comes, the first one is revisited (lines 16 and 17): it reads
//! from nothing, and waits until the confirmation of the second is written. Then it is read again in place. A thread
//! that has made a speculative read goes on until it has confirmed it (`next_P` (a)), so that only complete
//! confirmations are found in a graph.
//!
//! This is right if all writes of the location are ordered, and a thread does nothing but read between the speculative
//! read and its confirmation, and nothing at all if there are other read-modify-writes of the location. Where that turns
//! out not to be so, the exploration starts again with speculative reads of the location as reads like any other.
//! Definition 4 also wants that no value is written twice; `older_value.rs` does without that.

use super::{Explorer, Go, Todo};
use crate::backward;
use crate::event::{EventId, Kind, LocId};
use crate::models::Model;
use crate::request::Request;
use selvedge_ir::{EntityRef, Speculation};
use selvedge_machine::session::Over;
use selvedge_machine::{Access, AccessKind, Machine, Status, ThreadId, truncate};

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Whether speculative reads of a location are treated as such.
    pub(super) fn speculates(&self, loc: LocId) -> bool {
        let reductions = self.options.reductions;
        reductions.speculative && reductions.in_place && self.habits[loc.index()].speculates()
    }

    /// Whether a load that a thread stands at is speculative with a value. What it would do next is tried out if need be.
    pub(super) fn is_speculative(&mut self, thread: ThreadId, access: &Access, value: u64) -> bool {
        if access.speculative != Some(Speculation::IfNext) {
            return access.speculates(value, None);
        }
        let next = self.runner.machine.next_if(thread, value);
        access.speculates(value, next.as_ref())
    }

    /// The speculative read of a thread that it has not confirmed yet.
    fn open_speculation(&self, thread: ThreadId) -> Option<EventId> {
        let graph = self.graph();
        for &e in graph.thread(thread).iter().rev() {
            let event = graph.event(e);
            if event.speculative {
                return Some(e);
            }
            if event.confirms {
                return None;
            }
        }
        None
    }

    /// A thread with a speculative read that it has not confirmed yet: it comes first. If it cannot go on, or does
    /// something else than read, its speculative reads are none.
    pub(super) fn speculating(&mut self) -> Option<ThreadId> {
        if !self.habits.iter().any(|habits| habits.speculative && habits.speculates()) {
            return None;
        }
        for thread in (0..self.graph().thread_limit()).map(ThreadId::new) {
            let Some(e) = self.open_speculation(thread) else { continue };
            let event = *self.graph().event(e);
            if event.blocked {
                continue;
            }
            let last = self.graph().last(thread).expect("the thread has an event");
            let regular = self.runner.machine.status(thread) == Status::Ready
                && !self.graph().event(last).blocked
                && self.graph().event(last).kind == Kind::Read
                && (last == e || !self.graph().event(last).speculative);
            if regular {
                return Some(thread);
            }
            self.note(event.loc, |habits| habits.irregular = true);
        }
        None
    }

    /// What a confirmation must read from to succeed (line 12).
    pub(super) fn confirmed_source(&mut self, thread: ThreadId, access: &Access, loc: LocId) -> Option<EventId> {
        if !access.confirms || !self.speculates(loc) {
            return None;
        }
        let open = self.open_speculation(thread)?;
        let event = *self.graph().event(open);
        if event.loc != loc {
            return None;
        }
        if self.graph().last(thread) != Some(open) {
            self.note(loc, |habits| habits.busy = true);
        }
        let expects = match access.kind {
            AccessKind::Cas { expected, .. } => truncate(expected, access.size) == event.value,
            _ => false,
        };
        if !expects || access.until.is_none() {
            // It confirms something else, or goes on if it fails.
            self.note(loc, |habits| habits.irregular = true);
            return None;
        }
        Some(event.confirmed())
    }

    /// Another speculative read that reads from a write that a new one could read from as well (line 16).
    pub(super) fn rival(&mut self, read: EventId, access: &Access, write: EventId) -> Option<EventId> {
        let graph = self.graph();
        let loc = graph.event(read).loc;
        let (thread, value) = (graph.event(read).thread, graph.written(loc, write));
        if access.speculative.is_none() || !self.speculates(loc) || !self.is_speculative(thread, access, value) {
            return None;
        }
        let graph = self.graph();
        let others = graph.location(loc).reads.iter().copied();
        others.filter(|&b| b != read).find(|&b| graph.event(b).speculative && graph.event(b).confirmed() == write)
    }

    /// Notes that a speculative read takes what another one has read, if what would be deleted was added maximally.
    pub(super) fn plan_speculation(
        &mut self,
        read: EventId,
        request: &Request,
        (write, older): (EventId, Option<EventId>),
        other: EventId,
    ) {
        self.reads_from(read, request, write);
        if backward::may_revisit(self.graph(), read, other, self.composites.footprints()) {
            self.frame().todo.push(Todo::Speculate { read, write, other, older });
        }
    }

    /// A speculative read takes what another one has read (line 17): a graph of its own, in which the other one waits.
    pub(super) fn speculate(
        &mut self,
        read: EventId,
        (write, older): (EventId, Option<EventId>),
        other: EventId,
    ) -> Result<Go, Over> {
        self.cut_behind(read);
        self.catch_up()?;
        let request = self.request_of(read);
        self.reads_from(read, &request, write);
        if !self.is_consistent(&[read]) {
            return Ok(Go::Back);
        }
        let (other, read) = self.make_frame(other, read)?;
        self.frame().graph.wait_for(other, read);
        let older = older.map(|older| self.names.get(older.index()).copied().unwrap_or(older));
        if !self.may_read_older(read, older) || older.is_some() && !self.is_consistent(&[read]) {
            return Ok(Go::Back);
        }
        self.has_read(read, &request)
    }
}

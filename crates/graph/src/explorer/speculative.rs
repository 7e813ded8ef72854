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
//!
//! In between, a thread may also store what nobody else can see before the confirmation, if the machine says that the next
//! attempt overwrites it: a stack's new node is told what comes after it, and then published by the exchange (the paper's
//! programs do so too, but there a node is not yet an object of the execution). To see it before would be to access it
//! without having read, however indirectly, from the confirmation; so that is looked at (`check_kept_back`). Nor may an access
//! come behind the confirmation and see what was there before: that would be what attempts have stored which have failed, and
//! which are not there. Under RC11 it does so if it has read from the confirmation without synchronising with it.
//!
//! Definition 4 also wants that no value is written twice; `older_value.rs` does without that.

use super::{Explorer, Go, Todo};
use crate::backward;
use crate::event::{Event, EventId, Kind, LocId};
use crate::models::Model;
use crate::request::{Request, Role};
use selvedge_ir::{EntityRef, Speculation};
use selvedge_machine::session::Over;
use selvedge_machine::{Access, AccessKind, Machine, Op, Status, ThreadId, truncate};
use smallvec::SmallVec;

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
        self.runner.machine.speculates(thread, access, value)
    }

    /// The speculative read of a thread that it has not confirmed yet.
    fn open_speculation(&self, thread: ThreadId) -> Option<EventId> {
        let graph = self.graph();
        let speculates = || graph.thread(thread).iter().any(|&e| graph.event(e).speculative);
        debug_assert!(graph.may_speculate(thread) || !speculates(), "it is noted that it does");
        if !graph.may_speculate(thread) {
            return None;
        }
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
    #[inline]
    pub(super) fn speculating(&mut self) -> Option<ThreadId> {
        debug_assert_eq!(
            self.speculation,
            self.habits.iter().any(|habits| habits.speculative && habits.speculates()),
            "it is looked at whenever something becomes known"
        );
        if self.speculation { self.open_speculations() } else { None }
    }

    #[inline(never)]
    fn open_speculations(&mut self) -> Option<ThreadId> {
        for thread in (0..self.graph().thread_limit()).map(ThreadId::new) {
            let Some(e) = self.open_speculation(thread) else { continue };
            let event = *self.graph().event(e);
            if event.blocked {
                continue;
            }
            let last = self.graph().last(thread).expect("the thread has an event");
            let regular = self.runner.machine.status(thread) == Status::Ready
                && !self.graph().event(last).blocked
                && (self.graph().event(last).kind == Kind::Read || self.keeps_back(last))
                && (last == e || !self.graph().event(last).speculative);
            if regular {
                return Some(thread);
            }
            self.note(event.loc, |habits| habits.irregular = true);
        }
        None
    }

    /// Whether an event is a store, between a speculative read and its confirmation, that nobody else could have seen yet.
    fn keeps_back(&mut self, e: EventId) -> bool {
        let graph = self.graph();
        let event = *graph.event(e);
        if event.kind != Kind::Write || event.exclusive || event.role != Role::Memory {
            return false;
        }
        if !self.runner.machine.overwrites_own_stores() {
            return false;
        }
        let location = graph.location(event.loc);
        let own = location.accesses().all(|x| graph.event(x).thread == event.thread);
        if own {
            self.habits[event.loc.index()].kept_back = true;
        }
        own
    }

    /// An access to a location: if another thread has stored there what it keeps back until it has confirmed a speculative
    /// read, the access must come after the confirmation, and see nothing older.
    #[inline(never)]
    pub(super) fn check_kept_back(&mut self, e: EventId) {
        let graph = self.graph();
        let Event { loc, thread, .. } = *graph.event(e);
        let is_kept = |&w: &EventId| graph.event(w).thread != thread && self.kept_back_by(w).is_some();
        let kept: SmallVec<[EventId; 4]> = graph.location(loc).co.iter().copied().filter(is_kept).collect();
        if kept.is_empty() {
            return;
        }
        let oldest = self.lower_bound(e);
        for w in kept {
            let Some((speculative, confirmation)) = self.kept_back_by(w) else { continue };
            let graph = self.graph();
            let comes_after = confirmation.is_some_and(|confirmation| graph.porf(confirmation, e));
            if !comes_after || oldest < graph.event(w).co {
                let loc = graph.event(speculative).loc;
                self.note(loc, |habits| habits.irregular = true);
            }
        }
    }

    /// For a store between a speculative read and its confirmation: these, if the latter is there.
    fn kept_back_by(&self, store: EventId) -> Option<(EventId, Option<EventId>)> {
        let graph = self.graph();
        let event = graph.event(store);
        let events = graph.thread(event.thread);
        let (before, after) = events.split_at(event.index as usize - 1);
        let marks = |&&e: &&EventId| graph.event(e).speculative || graph.event(e).confirms;
        let speculative = *before.iter().rfind(marks).filter(|&&e| graph.event(e).speculative)?;
        Some((speculative, after.iter().find(|&&e| graph.event(e).confirms).copied()))
    }

    /// What a confirmation must read from to succeed (line 12).
    #[inline]
    pub(super) fn confirmed_source(&mut self, thread: ThreadId, access: &Access, loc: LocId) -> Option<EventId> {
        if access.confirms && self.speculates(loc) { self.open_source(thread, access, loc) } else { None }
    }

    #[inline(never)]
    fn open_source(&mut self, thread: ThreadId, access: &Access, loc: LocId) -> Option<EventId> {
        let Some(open) = self.open_speculation(thread) else {
            if self.has_loaded_in_turn(thread, loc) {
                // The thread has done something else since, which belongs to the attempt.
                self.note(loc, |habits| (habits.speculative, habits.irregular) = (true, true));
            }
            return None;
        };
        let event = *self.graph().event(open);
        if event.loc != loc {
            return None;
        }
        let graph = self.graph();
        if graph.thread(thread)[event.index as usize..].iter().any(|&e| graph.event(e).is_read()) {
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

    /// Whether a composite await that is over has read what a confirmation belongs to.
    fn has_loaded_in_turn(&self, thread: ThreadId, loc: LocId) -> bool {
        let graph = self.graph();
        let events = graph.thread(thread).iter().rev().map(|&e| graph.event(e)).take_while(|event| !event.confirms);
        let load = events.into_iter().find(|event| event.is_read() && event.loc == loc);
        load.is_some_and(|load| load.composite)
    }

    /// A read that would be speculative if it were not part of a composite await. No attempt is left out by this engine because
    /// of it, but by the machine, which relies on the order of writes.
    pub(super) fn note_speculation_in_turn(&mut self, thread: ThreadId, loc: LocId) {
        let speculates =
            matches!(self.runner.machine.pending(thread), Op::Access(access) if access.speculative.is_some());
        if speculates && !self.habits[loc.index()].together {
            self.note(loc, |habits| habits.together = true);
        }
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
        let mut others = graph.location(loc).reads().filter(|&b| b != read);
        others.find(|&b| graph.event(b).speculative && graph.event(b).confirmed() == write)
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

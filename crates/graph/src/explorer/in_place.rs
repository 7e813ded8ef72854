//! Reads that wait and are read again in place (section 3.2).
//!
//! The theorem is about reads. Read-modify-writes that wait (locks, semaphores, an exchange that is repeated until it
//! succeeds) are kept out of the graph as long as they would have to wait, so that at most one of them at a time, by a
//! backward revisit, is in the graph and waits. If a write lets it go that another read-modify-write reads from as well,
//! which one comes first would have to be explored, with whatever else could come in between: reads of the location are
//! not read again in place then.
//!
//! In-place revisits are right if the writes of the location are ordered by program order and reads-from. Where they turn
//! out not to be, the exploration starts again: if the memory model allows it, with stores to that location as exchanges
//! (`store_as_exchange.rs`), which orders them; otherwise reads of that location are not read again in place.

use super::tested::Values;
use super::{Explorer, Go, Todo};
use crate::Reductions;
use crate::event::{EventId, INIT, LocId};
use crate::models::Model;
use crate::request::Request;
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::{Access, AccessKind, Machine, Op, Status, ThreadId};
use smallvec::SmallVec;

/// What the program does with a location, in any graph.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Habits {
    /// Some access to it is not atomic.
    pub plain: bool,
    /// Some access to it is a part of one to several locations.
    pub parts: bool,
    /// Some access to it must not be cut into parts.
    pub whole: bool,
    /// Some read of it waits for a condition.
    pub awaited: bool,
    /// So does some read-modify-write of it, and not to confirm a speculative read.
    pub awaited_rmw: bool,
    /// A read-modify-write that waited and another one have been let go by the same write.
    pub contended: bool,
    /// Some of its writes are not ordered by program order and reads-from, and cannot be.
    pub unordered: bool,
    /// Some of its writes are not ordered by program order and reads-from, but would be if its stores were exchanges.
    pub racing: bool,
    /// Some read of it is speculative.
    pub speculative: bool,
    /// Some read of it would be speculative, but is part of a composite await.
    pub together: bool,
    /// Some read-modify-write of it does not confirm a speculative read.
    pub foreign: bool,
    /// Some thread reads something else between a speculative read of it and the confirmation.
    pub busy: bool,
    /// Some thread stores to it between a speculative read of something else and the confirmation.
    pub kept_back: bool,
    /// Speculative reads of it are used in a way that the theorem does not cover: the thread does something else than
    /// read before it confirms.
    pub irregular: bool,
    /// Some exchange that waits reads from what a load before it has read from (`tested.rs`).
    pub tested: bool,
    /// The values that were looked at for that.
    pub values: Values,
    /// Some exchange that waits could go on with another value than a load before it, or there are too many values.
    pub otherwise: bool,
}

/// How a location is treated. What was explored while it was treated otherwise counts no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Treatment {
    /// Whether reads could have been read again in place, and speculative reads treated as such, but are not.
    given_up: [bool; 2],
    /// Whether attempts that fail cannot be left out: the machine is told.
    in_vain: bool,
    /// Whether stores count as exchanges.
    exchanges: bool,
    /// How many values were looked at because of exchanges that are tested, if there are any.
    tested: Option<u8>,
}

impl Habits {
    /// Whether reads may be read again in place: only if writes are ordered.
    #[inline]
    fn in_place(self) -> bool {
        !(self.unordered && (self.awaited || self.speculative)) && !self.contended
    }

    /// Whether stores are treated as exchanges: only if that makes reads be read again in place that otherwise could not.
    #[inline]
    pub fn stores_as_exchanges(self) -> bool {
        (self.awaited || self.speculative || self.together) && self.racing && !self.unordered && !self.contended
    }

    /// Adds what others know.
    pub fn merge(&mut self, other: Habits) {
        self.plain |= other.plain;
        self.whole |= other.whole;
        self.parts |= other.parts;
        self.awaited |= other.awaited;
        self.unordered |= other.unordered;
        self.racing |= other.racing;
        self.speculative |= other.speculative;
        self.together |= other.together;
        self.irregular |= other.irregular;
        self.kept_back |= other.kept_back;
        self.foreign |= other.foreign;
        self.busy |= other.busy;
        self.awaited_rmw |= other.awaited_rmw;
        self.contended |= other.contended;
        // Whether exchanges are tested is nothing to others: several workers do without (`tested.rs`).
        self.otherwise |= other.otherwise;
    }

    /// How the location is treated.
    pub fn treatment(self, reductions: Reductions) -> Treatment {
        let given_up = reductions.speculative && self.speculative && !self.speculates();
        Treatment {
            given_up: [reductions.in_place && !self.in_place(), given_up],
            // What attempts that fail leave is known only if writes are ordered (`schedules/attempts.rs`).
            in_vain: given_up || self.together && self.unordered,
            exchanges: reductions.in_place && self.stores_as_exchanges(),
            tested: (self.tested && !self.otherwise).then(|| self.values.len()),
        }
    }

    /// Whether speculative reads are treated as such. The theorem does not know read-modify-writes that wait. Nor does it
    /// know others that take what a speculative read has read: they are not made to wait for the confirmation, but
    /// revisited by it, and then what the thread has read in between cannot be revisited any more.
    pub fn speculates(self) -> bool {
        let taken = self.foreign && self.busy;
        self.in_place() && !self.irregular && !self.awaited_rmw && !taken
    }
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Whether reads of a location are read again in place.
    #[inline]
    pub(super) fn in_place(&self, loc: LocId) -> bool {
        self.options.reductions.in_place && self.habits[loc.index()].in_place()
    }

    /// Notes what the program does with a location. What was explored in the belief that it does not counts no longer.
    #[inline(never)]
    pub(super) fn note(&mut self, loc: LocId, change: impl FnOnce(&mut Habits)) {
        let habits = self.habits[loc.index()];
        change(&mut self.habits[loc.index()]);
        if self.habits[loc.index()] == habits {
            return;
        }
        self.look_at_habits();
        let before = habits.treatment(self.options.reductions);
        let now = self.habits[loc.index()].treatment(self.options.reductions);
        if before == now {
            return;
        }
        self.restart = true;
        if before.in_vain != now.in_vain {
            let (addr, _) = self.runner.place(loc);
            self.runner.machine.speculates_in_vain(addr);
        }
        if before.given_up == now.given_up {
            return;
        }
        let object = self.name(loc);
        let note = match before.given_up[0] == now.given_up[0] {
            true => {
                format!("speculative reads of {object} are explored like others: Definition 4 does not hold for it")
            }
            false if self.habits[loc.index()].contended => {
                format!("reads of {object} are not read again in place: exchanges wait and compete for its value")
            }
            false => format!("reads of {object} are not read again in place: its writes are not ordered"),
        };
        if !self.session.result.notes.contains(&note) {
            self.session.result.notes.push(note);
        }
    }

    /// What is known of some location has changed.
    pub(super) fn look_at_habits(&mut self) {
        self.speculation = self.habits.iter().any(|habits| habits.speculative && habits.speculates());
    }

    /// A location in the words of the program, if some thread stands at an access to it.
    fn name(&self, loc: LocId) -> String {
        let (addr, _) = self.runner.place(loc);
        let machine = &self.runner.machine;
        let there = |&thread: &ThreadId| {
            machine.status(thread) == Status::Ready
                && Request::of(thread, machine.pending(thread)).is_some_and(|request| request.access.addr == addr)
        };
        let thread = (0..machine.thread_limit()).map(ThreadId::new).find(there);
        let named = thread.map(|thread| machine.site(thread).object).filter(|object| !object.is_empty());
        named.unwrap_or_else(|| addr.to_string())
    }

    /// Notes how a location is read.
    pub(super) fn note_read(&mut self, loc: LocId, access: &Access, confirms: bool) {
        let known = self.habits[loc.index()];
        let exchanges = !confirms && !matches!(access.kind, AccessKind::Load);
        if access.may_wait() && !(known.awaited && (known.awaited_rmw || !exchanges)) {
            self.note(loc, |habits| {
                habits.awaited = true;
                habits.awaited_rmw |= exchanges;
            });
        }
        if access.speculative.is_some() && !known.speculative {
            self.note(loc, |habits| habits.speculative = true);
        }
    }

    /// Whether a thread is about to make a read-modify-write with a condition.
    #[inline]
    pub(super) fn may_park(&self, thread: ThreadId, op: &Op) -> bool {
        let starts_again =
            || !matches!(op, Op::Access(Access { kind: AccessKind::Load, .. })) && self.may_start_again(thread);
        self.options.reductions.in_place && (Request::is_exchange_that_waits(op) || starts_again() || self.is_test(op))
    }

    /// Whether the condition of a read-modify-write that a thread [is about to make](Explorer::may_park) does not hold for
    /// the coherence-last value. It waits outside the graph until something is written, and comes in last of all if nothing
    /// is: two such reads in a graph could not both be read again in place when they are let go.
    #[inline(never)]
    pub(super) fn is_parked(&mut self, thread: ThreadId) -> bool {
        let op = self.runner.machine.pending(thread);
        match op {
            // What the engine has found out of attempts does not matter.
            Op::Access(access) if self.composites.knows_nothing() && !access.spins => {
                let parked = self.waits_outside(thread, access, false);
                debug_assert_eq!(parked, self.is_parked_with(thread, Request::of_access(access)), "it waits outside");
                parked
            }
            Op::Access(access) => self.is_parked_with(thread, Request::of_access(access)),
            _ => Request::of_condition(thread, op).is_some_and(|request| self.is_parked_with(thread, request)),
        }
    }

    /// The same of what a thread asks for.
    fn is_parked_with(&mut self, thread: ThreadId, mut request: Request) -> bool {
        self.make_composite(thread, &mut request);
        if !request.access.spins {
            return self.waits_outside(thread, &request.access, request.is_condition());
        }
        let loc = self.locations.get(request.access.addr);
        if loc.is_some_and(|loc| !self.in_place(loc)) {
            return false;
        }
        // A fault is found when it comes to the access.
        let Some((value, write)) = self.newest_value_at(loc, thread, &request) else { return false };
        let pred = self.graph().before_next(thread);
        self.flags_after(thread, &request, pred, (write, value)).blocked
    }

    /// The same of an access with which a thread does not spin.
    #[inline]
    fn waits_outside(&self, thread: ThreadId, access: &Access, is_condition: bool) -> bool {
        let loc = self.locations.get(access.addr);
        if loc.is_some_and(|loc| !self.in_place(loc)) {
            return false;
        }
        let newest = self.newest_value_of(loc, thread, (access, is_condition));
        // A fault is found when it comes to the access.
        newest.is_some_and(|(value, _)| access.until.as_ref().is_some_and(|until| !until.holds(value, access.size)))
    }

    /// The coherence-last value of what a thread asks for, and the write that it is from; none if to read it is an error.
    pub(super) fn newest_value(&self, thread: ThreadId, request: &Request) -> Option<(u64, EventId)> {
        self.newest_value_at(self.locations.get(request.access.addr), thread, request)
    }

    /// The same for a location that is known.
    #[inline]
    fn newest_value_at(&self, loc: Option<LocId>, thread: ThreadId, request: &Request) -> Option<(u64, EventId)> {
        debug_assert!(request.part.is_none(), "what a thread stands at is the whole of it");
        self.newest_value_of(loc, thread, (&request.access, request.is_condition()))
    }

    #[inline]
    fn newest_value_of(
        &self,
        loc: Option<LocId>,
        thread: ThreadId,
        (access, is_condition): (&Access, bool),
    ) -> Option<(u64, EventId)> {
        let graph = self.graph();
        match loc.filter(|&loc| graph.knows(loc)) {
            Some(loc) => {
                let write = graph.location(loc).write_at(graph.newest(loc));
                (!self.is_error_of(loc, write, access)).then(|| (graph.written(loc, write), write))
            }
            None if is_condition => Some((0, INIT)),
            None => {
                let value = self.runner.machine.memory().load(thread, access.addr, access.size, access.raw);
                Some((value.ok()?, INIT))
            }
        }
    }

    /// In-place revisits (line 22): reads that wait read from the new write, but one of them from an older write if that
    /// was chosen (`older_value.rs`).
    #[inline(never)]
    pub(super) fn read_again(
        &mut self,
        write: EventId,
        loc: LocId,
        chosen: Option<(EventId, EventId)>,
    ) -> Result<Go, Over> {
        let graph = self.graph();
        let blocked = |&r: &EventId| graph.event(r).blocked && graph.event(r).rf != write;
        if graph.event(write).co < graph.newest(loc) {
            return Ok(Go::On);
        }
        let waiting: SmallVec<[EventId; 8]> = graph.location(loc).reads().filter(blocked).collect();
        if waiting.is_empty() {
            return Ok(Go::On);
        }
        let mut choices = false;
        for r in waiting {
            // One step at a time: a thread that stops, because it fails, say, is noticed when it has made its newest step.
            self.catch_up()?;
            let request = self.request_of(r);
            self.frame().graph.reread(r, write);
            let flags = self.value_has_changed(r, &request);
            match chosen {
                Some((read, older)) if read == r => {
                    if !self.may_read_older(r, Some(older)) || !self.is_consistent(&[r]) {
                        return Ok(Go::Back);
                    }
                }
                Some(_) => {}
                None => {
                    let older = self.older_writes(r, &request.access, write);
                    if !older.is_empty() && std::mem::replace(&mut choices, true) {
                        // Two speculative reads wait at a time: that is not how they are made to wait.
                        self.note(loc, |habits| habits.irregular = true);
                    }
                    self.frame().todo.extend(older.into_iter().map(|older| Todo::Older { write, read: r, older }));
                }
            }
            if flags.exclusive && !flags.blocked {
                let graph = self.graph();
                let takes = |x: EventId| x != r && graph.event(x).rf == write && graph.event(x).exclusive;
                if graph.location(loc).reads().any(takes) {
                    self.note(loc, |habits| habits.contended = true);
                }
            }
            self.has_read(r, &request)?;
        }
        Ok(Go::On)
    }
}

//! Reads: every write that a read may read from (line 15).

use super::granules::Located;
use super::{Explorer, Go, Habits, Todo};
use crate::event::{Event, EventId, INIT, Kind, LocId};
use crate::graph::Graph;
use crate::models::Model;
use crate::request::{Flags, Request};
use crate::{ending, past, race, request};
use selvedge_ir::EntityRef;
use selvedge_machine::memory::ObjectKind;
use selvedge_machine::session::Over;
use selvedge_machine::{Access, AccessKind, Fault, Machine, Op, ThreadId};

/// What has become of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Read {
    /// There is nothing that it may read, or all of it is explored later.
    NotAtAll,
    /// It reads from the coherence-last write, and it is clear at first sight that it does not race.
    WithoutRace,
    /// It reads from the coherence-last write, and that has been looked at.
    LookedAt,
}

/// So much is remembered of what the machine says.
const REMEMBERED: usize = 1 << 16;

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Adds an access, or the write of one whose read has been added (lines 11 to 24).
    pub(super) fn access(&mut self, thread: ThreadId, request: &Request) -> Result<Go, Over> {
        if self.graph().may_be_open
            && let Some(last) = self.graph().last(thread)
            && self.graph().awaits_write(last)
        {
            return self.write(thread, request, self.graph().event(last).loc, Some(last));
        }
        if let Err(fault) = self.check(thread, request) {
            return self.fault(thread, request, fault);
        }
        if request.is_condition() && thread.index() >= request::MAX_WAITING {
            return self.unsupported(thread, "condition variables and more than 32 threads");
        }
        match self.locate(thread, request) {
            Ok(Located::Whole(loc)) => self.access_at(thread, request, loc),
            Ok(Located::Part(loc, part)) => self.access_at(thread, &part, loc),
            Ok(Located::Cut) => Ok(Go::Back),
            Err(stop) => self.stopped(stop).map(|()| Go::Back),
        }
    }

    /// Adds an access to a location, or the first event of it.
    #[inline(never)]
    fn access_at(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Result<Go, Over> {
        self.touch(thread, request, loc);
        if self.schedules.is_some() {
            return self.access_in_run(thread, request, loc);
        }
        if !request.reads() && !self.is_exchange(request, loc) {
            return self.store(thread, request, loc);
        }
        let (may_be_open, e) = (self.graph().may_be_open, EventId::new(self.graph().len()));
        let read = self.read(thread, request, loc)?;
        if matches!(read, Read::NotAtAll) || self.restart {
            return Ok(if matches!(read, Read::NotAtAll) { Go::Back } else { Go::On });
        }
        // Its write comes before all else that could come next: there is no need to look for that. What a composite
        // await has read is looked at first.
        if !self.graph().awaits_write(e) || self.graph().event(e).composite {
            return Ok(Go::On);
        }
        self.tick()?;
        let somebody_waits = self.graph().blocked_reads() > 0;
        let go = self.exchange(request, e, matches!(read, Read::WithoutRace))?;
        if !somebody_waits {
            // No other read has been read again in place.
            self.frame().graph.may_be_open = may_be_open;
        }
        Ok(go)
    }

    /// Makes a location known to the graph.
    #[inline]
    pub(super) fn touch(&mut self, thread: ThreadId, request: &Request, loc: LocId) {
        let access = &request.access;
        let memory = self.runner.machine.memory();
        self.frames.top.graph.touch(loc, || {
            if request.is_condition() {
                return (0, false);
            }
            let uninitialised = memory.load(thread, access.addr, access.size, false).is_err();
            (memory.load(thread, access.addr, access.size, true).unwrap_or(0), uninitialised)
        });
    }

    /// An access cannot be performed.
    #[cold]
    fn fault(&mut self, thread: ThreadId, request: &Request, fault: Fault) -> Result<Go, Over> {
        let stop = self.runner.machine.fault(thread, &request.access, fault);
        self.halt(thread, stop)
    }

    /// Whether an access can be performed at all.
    #[inline]
    fn check(&self, thread: ThreadId, request: &Request) -> Result<(), Fault> {
        let access = &request.access;
        if request.is_condition() {
            return Ok(());
        }
        let memory = self.runner.machine.memory();
        let id = memory.check(thread, access.addr, u64::from(access.size))?;
        let writes = !matches!(access.kind, AccessKind::Load);
        if writes && memory.object(id).kind == ObjectKind::Constant { Err(Fault::Constant(id)) } else { Ok(()) }
    }

    /// Adds a read (line 14), or the phantom read of a store that counts as an exchange.
    #[inline(always)]
    fn read(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Result<Read, Over> {
        let access = &request.access;
        let confirmed = self.confirmed_source(thread, access, loc);
        let tested = self.tested_source(thread, request, loc);
        let only = confirmed.or(tested);
        let choosy = self.is_choosy(thread, request, loc);
        let turn = self.turn_of(thread, request);
        let graph = &self.frames.top.graph;
        let newest = graph.newest(loc);
        let rf = graph.location(loc).write_at(newest);
        let value = graph.written(loc, rf);
        let is_own = !rf.is_event() || graph.event(rf).thread == thread;
        // What the value makes of a read is most often seen at once.
        let is_whole = request.part.is_none() && access.speculative.is_none();
        let is_plain = is_whole && !access.spins && self.composites.is_empty();
        let flags = match is_plain {
            true => self.flags_at_sight(thread, request, loc, (rf, value)),
            false => Flags { exclusive: false, blocked: false, order: access.order },
        };
        let graph = &mut self.frames.top.graph;
        let draft = graph.draft(thread, Kind::Read);
        let e = graph.add_read(Event {
            loc,
            value,
            rf,
            base: rf,
            exclusive: flags.exclusive,
            blocked: flags.blocked,
            locked: request.reads() && !matches!(access.kind, AccessKind::Load),
            phantom: !request.reads(),
            order: flags.order,
            role: request.role,
            confirms: access.confirms,
            tested: tested.is_some(),
            choosy,
            part: request.part,
            composite: turn.is_some(),
            ..draft
        });
        let lowest = match turn {
            Some(turn) => {
                self.note_speculation_in_turn(thread, loc);
                self.read_in_turn(e, turn)
            }
            None => {
                self.note_read(loc, access, confirmed.is_some());
                // Under all models, a thread reads nothing older than its own write.
                debug_assert!(!is_own || self.lower_bound(e) == newest, "there is nothing else to read");
                if is_own { newest } else { self.lower_bound(e) }
            }
        };
        for position in lowest..newest {
            self.plan_older(e, request, loc, (position, only));
        }
        if only.is_some_and(|only| rf != only) || access.speculative.is_some() && self.plan_rivalry(e, request, rf) {
            return Ok(Read::NotAtAll);
        }
        // It may have been tried out with others.
        if self.graph().event(e).rf != rf {
            self.frame().graph.set_rf(e, rf);
        }
        if self.leads_nowhere() {
            return Ok(Read::NotAtAll);
        }
        if !is_plain {
            self.value_has_changed(e, request);
        }
        debug_assert!(!is_plain || self.value_makes(e, request) == self.graph().event(e).flags(), "it is seen at once");
        if !request.reads() {
            return Ok(Read::LookedAt);
        }
        let is_free = self.check_race(e)?;
        self.go_on_after_read(e, request)?;
        Ok(if is_free { Read::WithoutRace } else { Read::LookedAt })
    }

    /// Notes that a read may read from the write at some place that is not the last one, if it may.
    #[inline(never)]
    fn plan_older(&mut self, e: EventId, request: &Request, loc: LocId, (position, only): (u32, Option<EventId>)) {
        let graph = self.graph();
        let write = graph.location(loc).write_at(position);
        if only.is_some_and(|only| write != only) {
            return;
        }
        // Section 3.1: a read that is not maximal cannot be revisited, so it waits forever.
        let mut flags = None;
        if self.options.reductions.stale && request.access.may_wait() {
            let value = graph.written(loc, write);
            // Most often it is that which it waits for.
            if write.is_event() && request.is_blocked(value) {
                return;
            }
            let known = self.flags_of(e, request, (write, value));
            if known.blocked {
                return;
            }
            flags = Some(known);
        }
        if request.access.speculative.is_none() || !self.plan_rivalry(e, request, write) {
            self.plan_source(e, request, write, flags);
        }
    }

    /// Notes what else a speculative read may do that could read from a write. Whether another one has read from that, so that
    /// this is all.
    #[inline(never)]
    fn plan_rivalry(&mut self, e: EventId, request: &Request, write: EventId) -> bool {
        let rival = self.rival(e, &request.access, write);
        for older in self.older_writes(e, &request.access, write) {
            match rival {
                Some(other) => self.plan_speculation(e, request, (write, Some(older)), other),
                None => self.frame().todo.push(Todo::Source { read: e, write, older: Some(older) }),
            }
        }
        if let Some(other) = rival {
            self.plan_speculation(e, request, (write, None), other);
        }
        rival.is_some()
    }

    /// A read reads from another write than the coherence-last one (line 15).
    pub(super) fn read_from(&mut self, read: EventId, write: EventId, older: Option<EventId>) -> Result<Go, Over> {
        self.cut_behind(read);
        self.catch_up()?;
        let request = self.request_of(read);
        self.reads_from(read, &request, write);
        if !self.may_read_older(read, older) || !self.is_consistent(&[read]) {
            return Ok(Go::Back);
        }
        self.has_read(read, &request)
    }

    /// Makes a read read from a write.
    pub(super) fn reads_from(&mut self, read: EventId, request: &Request, write: EventId) -> Flags {
        self.frame().graph.set_rf(read, write);
        self.value_has_changed(read, request)
    }

    /// What the value that a read has got makes of it.
    #[inline]
    pub(super) fn value_has_changed(&mut self, read: EventId, request: &Request) -> Flags {
        let Event { loc, thread, value, rf, .. } = *self.graph().event(read);
        let access = &request.access;
        let speculative = access.speculative.is_some()
            && self.schedules.is_none()
            && self.speculates(loc)
            && !self.is_error(loc, rf, request)
            && self.is_speculative(thread, access, value);
        let flags = self.flags_of(read, request, (rf, value));
        let graph = &mut self.frame().graph;
        graph.set_speculative(read, speculative);
        graph.set_flags(read, flags.exclusive, flags.blocked, flags.order);
        flags
    }

    /// What the value that a read has got should have made of it.
    fn value_makes(&mut self, read: EventId, request: &Request) -> Flags {
        let Event { value, rf, .. } = *self.graph().event(read);
        self.flags_of(read, request, (rf, value))
    }

    /// What a value makes of a read that a thread stands at.
    pub(super) fn flags(&mut self, thread: ThreadId, request: &Request, value: u64) -> Flags {
        self.flags_with(thread, request, value, |explorer| explorer.runner.machine.waits(thread, value))
    }

    /// What the value of a write makes of the newest event of a thread, a read.
    pub(super) fn flags_of(&mut self, read: EventId, request: &Request, from: (EventId, u64)) -> Flags {
        let Event { thread, pred, loc, .. } = *self.graph().event(read);
        if !request.access.spins || self.is_error(loc, from.0, request) {
            return self.flags_at_sight(thread, request, loc, from);
        }
        self.flags_after(thread, request, pred, from)
    }

    /// What the value of a write makes of a read with which the thread does not spin.
    #[inline]
    fn flags_at_sight(&self, thread: ThreadId, request: &Request, loc: LocId, (write, value): (EventId, u64)) -> Flags {
        if self.is_error(loc, write, request) { request.flags_of_error() } else { request.flags(thread, value) }
    }

    /// Whether an access is an error (line 9) if it reads from a write: if that is the initial one, and there is none. Then
    /// the thread has come to its end. It does not wait, whatever value its condition would refuse, nor does it write.
    #[inline]
    pub(super) fn is_error(&self, loc: LocId, write: EventId, request: &Request) -> bool {
        // Of an access in several parts it takes all of them; such accesses neither wait nor write at once.
        request.part.is_none() && self.is_error_of(loc, write, &request.access)
    }

    /// The same of a whole access. What a store overwrites that counts as an exchange is nothing to the program.
    #[inline]
    pub(super) fn is_error_of(&self, loc: LocId, write: EventId, access: &Access) -> bool {
        write == INIT && self.graph().location(loc).uninitialised && access.reads() && !access.raw
    }

    /// What the value of a write makes of a read that comes after an event of its thread. To ask the machine may be to run
    /// everything again, so what it says is remembered (`past.rs`): it depends on what comes before the two, and on nothing else.
    #[inline]
    pub(super) fn flags_after(
        &mut self,
        thread: ThreadId,
        request: &Request,
        pred: EventId,
        (write, value): (EventId, u64),
    ) -> Flags {
        self.flags_with(thread, request, value, |explorer| {
            let graph = explorer.graph();
            if graph.without_past {
                return explorer.runner.machine.waits(thread, value);
            }
            let source = if write.is_event() { graph.event(write).past } else { value };
            let key = (past::before_next(graph, thread, pred), source);
            if let Some(&waits) = explorer.waits.get(&key) {
                return waits;
            }
            let waits = explorer.runner.machine.waits(thread, value);
            if explorer.waits.len() == REMEMBERED {
                explorer.waits.clear();
            }
            explorer.waits.insert(key, waits);
            waits
        })
    }

    /// The same if the machine knows with which values the thread spins. It is asked only of accesses that it has marked: of
    /// some, the engine has found out that an attempt may start again with them (`start_again.rs`).
    #[inline(always)]
    fn flags_with(
        &mut self,
        thread: ThreadId,
        request: &Request,
        value: u64,
        waits: impl FnOnce(&mut Self) -> bool,
    ) -> Flags {
        let mut flags = request.flags(thread, value);
        if request.access.spins && !flags.blocked {
            let is_marked = matches!(self.runner.machine.pending(thread), Op::Access(access) if access.spins);
            flags.blocked = is_marked && waits(self) || !flags.exclusive && self.starts_again(thread, request, value);
        }
        flags
    }

    /// What follows from what a read reads.
    pub(super) fn has_read(&mut self, e: EventId, request: &Request) -> Result<Go, Over> {
        if self.graph().event(e).phantom {
            return Ok(Go::On);
        }
        self.check_race(e)?;
        self.go_on_after_read(e, request)
    }

    /// The same once it has been looked at whether it races.
    #[inline(always)]
    fn go_on_after_read(&mut self, e: EventId, request: &Request) -> Result<Go, Over> {
        let graph = &mut self.frames.top.graph;
        let event = graph.event(e);
        if event.rf == INIT && !request.access.raw && graph.location(event.loc).uninitialised && is_unwritten(graph, e)
        {
            return self.reads_uninitialised(e, request);
        }
        if !event.exclusive && !event.blocked && !event.is_unfinished() {
            graph.executed.push(e);
        }
        Ok(Go::On)
    }

    /// A read of what was never written.
    #[cold]
    fn reads_uninitialised(&mut self, e: EventId, request: &Request) -> Result<Go, Over> {
        let graph = &mut self.frames.top.graph;
        let Event { thread, exclusive, order, .. } = *graph.event(e);
        graph.set_flags(e, exclusive, false, order);
        let access = &request.access;
        let id = self.runner.machine.memory().find(access.addr).expect("the access was checked");
        let stop = self.runner.machine.fault(thread, access, Fault::Uninitialised(id));
        self.halt(thread, stop)
    }

    pub(super) fn lower_bound(&mut self, e: EventId) -> u32 {
        let graph = &self.frames.top.graph;
        Mo::lower_bound(graph, e, &mut self.scratch)
    }

    pub(super) fn is_consistent(&mut self, changed: &[EventId]) -> bool {
        let graph = &self.frames.top.graph;
        Mo::consistent(graph, changed, &mut self.scratch)
    }

    /// Looks for a data race of an access. Whether it is clear at first sight that there is none.
    #[inline]
    pub(super) fn check_race(&mut self, e: EventId) -> Result<bool, Over> {
        let graph = &self.frames.top.graph;
        let event = graph.event(e);
        let Habits { plain, parts, kept_back, .. } = self.habits[event.loc.index()];
        // Most accesses are atomic, and to locations that only such are made to.
        let is_atomic = !(plain | parts | kept_back) && event.order.is_atomic() && event.part.is_none();
        if is_atomic && self.options.limits.data_races {
            let addr = self.runner.place(event.loc).0;
            if race::race_with_owner(graph, e, addr, self.runner.machine.memory()).is_none() {
                return Ok(true);
            }
        }
        self.find_race(e).map(|()| false)
    }

    #[inline(never)]
    fn find_race(&mut self, e: EventId) -> Result<(), Over> {
        if self.habits[self.graph().event(e).loc.index()].kept_back {
            match self.schedules {
                Some(_) => self.check_kept_back_in_run(e),
                None => self.check_kept_back(e),
            }
        }
        let graph = &self.frames.top.graph;
        let event = graph.event(e);
        let habits = &mut self.habits[event.loc.index()];
        habits.parts |= event.part.is_some();
        if !self.options.limits.data_races {
            // An access in several parts has a meaning only if it does not race.
            let races = habits.parts && race::race_of(graph, e).is_some();
            return if races { self.stopped(self.mixed(event.thread)) } else { Ok(()) };
        }
        let addr = self.runner.place(event.loc).0;
        if let Some(owner) = race::race_with_owner(graph, e, addr, self.runner.machine.memory()) {
            let stop = ending::race_with_owner(&mut self.runner, graph, owner, e);
            let machine = &self.runner.machine;
            return self.session.stopped(stop, || ending::schedule(machine, graph, Some(e)));
        }
        habits.plain |= !event.order.is_atomic();
        if !habits.plain {
            return Ok(());
        }
        let Some(other) = race::race_of(graph, e) else { return Ok(()) };
        let stop = ending::race(&mut self.runner, graph, other, e);
        let machine = &self.runner.machine;
        self.session.stopped(stop, || ending::schedule(machine, graph, Some(e)))
    }
}

/// Whether what a read reads was never written. Of an access to several granules, all have to be unwritten; it is looked at
/// when the last one is read.
#[cold]
fn is_unwritten(graph: &Graph, e: EventId) -> bool {
    let unwritten = |&r: &EventId| graph.event(r).rf == INIT && graph.location(graph.event(r).loc).uninitialised;
    !graph.event(e).is_unfinished() && graph.parts_of(e).iter().all(unwritten)
}

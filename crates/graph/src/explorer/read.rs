//! Reads: every write that a read may read from (line 15).

use super::granules::Located;
use super::{Explorer, Go, Habits, Todo};
use crate::event::{Event, EventId, INIT, Kind, LocId};
use crate::models::Model;
use crate::request::{Flags, Request};
use crate::{ending, past, race, request};
use selvedge_ir::EntityRef;
use selvedge_machine::memory::ObjectKind;
use selvedge_machine::session::Over;
use selvedge_machine::{AccessKind, Fault, Machine, Op, ThreadId};

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
        let access = &request.access;
        let memory = self.runner.machine.memory();
        let graph = &mut self.frames.top.graph;
        graph.touch(loc, || {
            if request.is_condition() {
                return (0, false);
            }
            let uninitialised = memory.load(thread, access.addr, access.size, false).is_err();
            (memory.load(thread, access.addr, access.size, true).unwrap_or(0), uninitialised)
        });
        if !request.reads() && !self.is_exchange(request, loc) {
            return self.write(thread, request, loc, None);
        }
        let may_be_open = self.graph().may_be_open;
        let go = self.read(thread, request, loc)?;
        match self.graph().last(thread) {
            // Its write comes before all else that could come next: there is no need to look for that. What a composite
            // await has read is looked at first.
            Some(last)
                if go == Go::On
                    && !self.restart
                    && self.graph().awaits_write(last)
                    && !self.graph().event(last).composite =>
            {
                self.tick()?;
                let somebody_waits = self.graph().blocked_reads() > 0;
                let go = self.write(thread, request, loc, Some(last))?;
                if !somebody_waits {
                    // No other read has been read again in place.
                    self.frame().graph.may_be_open = may_be_open;
                }
                Ok(go)
            }
            _ => Ok(go),
        }
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
    fn read(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Result<Go, Over> {
        let access = &request.access;
        let only = self.confirmed_source(thread, access, loc);
        let turn = self.turn_of(thread, request);
        let graph = &mut self.frames.top.graph;
        let newest = graph.newest(loc);
        let rf = graph.location(loc).write_at(newest);
        let draft = graph.draft(thread, Kind::Read);
        let e = graph.add(Event {
            loc,
            value: graph.written(loc, rf),
            rf,
            base: rf,
            locked: request.reads() && !matches!(access.kind, AccessKind::Load),
            phantom: !request.reads(),
            order: access.order,
            role: request.role,
            confirms: access.confirms,
            waits: access.may_wait(),
            part: request.part,
            composite: turn.is_some(),
            ..draft
        });
        let lowest = match turn {
            Some(turn) => self.read_in_turn(e, turn),
            None => {
                self.note_read(loc, access, only.is_some());
                self.lower_bound(e)
            }
        };
        for position in lowest..=newest {
            let graph = self.graph();
            let write = graph.location(loc).write_at(position);
            if only.is_some_and(|only| write != only) {
                continue;
            }
            let value = graph.written(loc, write);
            // Section 3.1: a read that is not maximal cannot be revisited, so it waits forever.
            let stale = position < newest && self.options.reductions.stale && access.may_wait();
            if stale && self.flags_of(e, request, (write, value)).blocked {
                continue;
            }
            if access.speculative.is_some() && self.plan_rivalry(e, request, write) {
                continue;
            }
            if position == newest {
                // It may have been tried out with others.
                if self.graph().event(e).rf != write {
                    self.frame().graph.set_rf(e, write);
                }
                if self.leads_nowhere() {
                    break;
                }
                self.value_has_changed(e, request);
                return self.has_read(e, request);
            }
            self.plan_source(e, request, write);
        }
        Ok(Go::Back)
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
        let Event { loc, thread, value, rf, pred, .. } = *self.graph().event(read);
        let access = &request.access;
        let is_error = self.is_error(loc, rf, request);
        let speculative = access.speculative.is_some()
            && self.speculates(loc)
            && !is_error
            && self.is_speculative(thread, access, value);
        let flags = match is_error {
            true => request.flags_of_error(),
            false => self.flags_after(thread, request, pred, (rf, value)),
        };
        let graph = &mut self.frame().graph;
        graph.set_speculative(read, speculative);
        graph.set_flags(read, flags.exclusive, flags.blocked, flags.order);
        flags
    }

    /// What a value makes of a read that a thread stands at.
    pub(super) fn flags(&mut self, thread: ThreadId, request: &Request, value: u64) -> Flags {
        self.flags_with(thread, request, value, |explorer| explorer.runner.machine.waits(thread, value))
    }

    /// What the value of a write makes of the newest event of a thread, a read.
    pub(super) fn flags_of(&mut self, read: EventId, request: &Request, from: (EventId, u64)) -> Flags {
        let Event { thread, pred, loc, .. } = *self.graph().event(read);
        if self.is_error(loc, from.0, request) {
            return request.flags_of_error();
        }
        self.flags_after(thread, request, pred, from)
    }

    /// Whether an access is an error (line 9) if it reads from a write: if that is the initial one, and there is none. Then
    /// the thread has come to its end. It does not wait, whatever value its condition would refuse, nor does it write.
    #[inline]
    pub(super) fn is_error(&self, loc: LocId, write: EventId, request: &Request) -> bool {
        // Of an access in several parts it takes all of them; such accesses neither wait nor write at once. What a store
        // overwrites that counts as an exchange is nothing to the program.
        let looks_at_it = request.reads() && request.part.is_none() && !request.access.raw;
        write == INIT && looks_at_it && self.graph().location(loc).uninitialised
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
        let graph = &mut self.frames.top.graph;
        let event = *graph.event(e);
        let access = &request.access;
        // Of an access to several granules, all have to be unwritten; it is looked at when the last one is read.
        let unwritten = |r: EventId| graph.event(r).rf == INIT && graph.location(graph.event(r).loc).uninitialised;
        if event.rf == INIT && !access.raw && !event.is_unfinished() && graph.parts_of(e).iter().all(|&r| unwritten(r))
        {
            graph.set_flags(e, event.exclusive, false, event.order);
            let id = self.runner.machine.memory().find(access.addr).expect("the access was checked");
            let stop = self.runner.machine.fault(event.thread, access, Fault::Uninitialised(id));
            return self.halt(event.thread, stop);
        }
        if !event.exclusive && !event.blocked && !event.is_unfinished() {
            graph.executed.push(e);
        }
        Ok(Go::On)
    }

    pub(super) fn lower_bound(&mut self, e: EventId) -> u32 {
        let graph = &self.frames.top.graph;
        Mo::lower_bound(graph, e, &mut self.scratch)
    }

    pub(super) fn is_consistent(&mut self, changed: &[EventId]) -> bool {
        let graph = &self.frames.top.graph;
        Mo::consistent(graph, changed, &mut self.scratch)
    }

    /// Looks for a data race of an access.
    #[inline]
    pub(super) fn check_race(&mut self, e: EventId) -> Result<(), Over> {
        let graph = &self.frames.top.graph;
        let event = graph.event(e);
        let Habits { plain, parts, kept_back, .. } = self.habits[event.loc.index()];
        // Most accesses are atomic, and to locations that only such are made to.
        let is_atomic = !plain && event.order.is_atomic() && !parts && event.part.is_none();
        if is_atomic && !kept_back && self.options.limits.data_races {
            let addr = self.runner.place(event.loc).0;
            if race::race_with_owner(graph, e, addr, self.runner.machine.memory()).is_none() {
                return Ok(());
            }
        }
        self.find_race(e)
    }

    #[inline(never)]
    fn find_race(&mut self, e: EventId) -> Result<(), Over> {
        if self.habits[self.graph().event(e).loc.index()].kept_back {
            self.check_kept_back(e);
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

//! Bounds on preemptions: what is explored is schedules.
//!
//! Preemption bounding leaves out executions in which threads have to make room for others too often although they could go on. An
//! execution graph stands for many interleavings; what counts is the one that takes fewest preemptions. It is none if a thread makes
//! room that waits: for a lock that is not free, for anything else that it would not go on with, for a thread that has
//! not ended. Nor is it one where a loop that waits begins: it could have looked in vain before, and yielded. What happens for no
//! reason, such as an exchange that fails, counts like a preemption.
//!
//! TruSt comes to a graph through others, which may take any number of preemptions more: what revisits delete later. (Marmanis,
//! Kokologiannakis and Vafeiadis, Reconciling preemption bounding with DPOR, TACAS 2023, allow for a number of them, for programs that do
//! not wait.) With a bound, most of what it visited would be such graphs. Here nothing is ever revisited, and none of this is in a
//! paper. Threads run one after the other as in an interleaving, each until it must make room or is made to, and a graph grows with
//! what they do: whatever may be read is read, and wherever a write may be placed it is. How many preemptions that has taken is known
//! all the time.
//!
//! # Where threads make room
//!
//! An order of events matters only for what can be read, so a thread is made to make room only
//! - before a read, which is a preemption, and it then has to read something that others write until it goes on;
//! - before a read with which it would wait, be it that it could also read something older, and where a loop that waits begins;
//! - before a write that others may wait for, which is a preemption: while it has not taken place, these make room without one.
//!   Somebody has to come to wait there, then.
//!
//! Nothing is missed by that. Take an execution and an interleaving of it with as few preemptions as can be. If a thread makes room
//! before an event that could take place at once, and it is none of the above, let it take place before that: no other thread
//! notices, and no more preemptions are taken. Repeated, that ends with one of the schedules above. (If it ends then, who joins it does
//! not wait any more, and may have to make room where it would not have had to; but then it is that one in its place. So it matters
//! that no two threads join the same one.)
//!
//! Under SC there is nothing to choose: what is newest is read, and writes come last. So a thread is also made to make room before a
//! write, if somebody else accesses the location until it goes on.
//!
//! # What is known of others
//!
//! Most reads read what no other thread ever writes, and nothing is gained by making room before them. So it is noted who comes to
//! an operation that may write a location, and who comes to one that may wait there (under SC, to any), and a preemption is taken
//! only where somebody else is known to do so. If what was not known turns out later, all starts again. That is enough. Suppose that
//! with all that is known in the end, an execution is missed since in its schedule a thread `t` makes room before a read `r`
//! of a location that nobody else is known to write. Follow that schedule, but let `t` run on there, reading what is newest, up to
//! the next place at which it may make room, or to its end. None of the others notices: until `r` is written nobody reads what `t`
//! does then, and that may lie behind all that they write, in coherence order. If `t` has ended, who joins it runs on likewise; no more
//! preemptions are taken. So the others come to the operation that writes what `r` was to read, and it is known.
//! The same goes for who comes to wait. To learn more before all starts again, some schedules are explored that are chosen at random,
//! no more than were explored for nothing.
//!
//! # Each graph once
//!
//! The same graph may come about by several schedules, as when threads that have nothing to do with each other run in another order.
//! Wherever a thread makes room, graphs that were there before with no more preemptions are dropped, and so are full ones. They are
//! known by numbers of 128 bits, computed from what each event does, reads from and follows. That two different ones have the same is
//! less likely than that memory fails.
//!
//! Threads that run also come to where they were before. In one schedule a thread has made room before a read, and reads what somebody
//! has written since; in another it runs only after that was written. From there on there is no difference, so states are
//! compared after reads of what the thread could not have read before. The same goes for where a loop that waits begins; but who runs
//! on there may come to wait, and who has made room goes on with what is new. So what begins there with the latter is dropped if the
//! former was explored, and not the other way round.
//!
//! An attempt fails whose exchange does not find what was loaded before and nothing comes of it: another schedule does not make it, and
//! takes no more preemptions (`schedules/attempts.rs`). Other attempts are explored like all else. Speculative reads
//! (`speculative.rs`) and composite awaits (`composite.rs`) are about revisits.

use super::granules::Located;
use super::{Explorer, Go, Todo};
use crate::ending;
use crate::event::{Event, EventId, Kind, LocId};
use crate::models::Model;
use crate::request::Request;
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::{AccessKind, Bound, BoundKind, Machine, Op, SourceSpan, Status, ThreadId};
use smallvec::SmallVec;
use states::{Name, Run, Stop, Where, bit, only};
pub(super) use states::{Schedules, Why};

mod attempts;
mod states;

/// So many runs are begun at most to learn something.
const MOST_LOOKS: usize = 4000;

/// Whether a thread may wait with an access. It does not with an exchange that confirms what was loaded before: if that fails, so has
/// the attempt.
fn may_wait(request: &Request) -> bool {
    request.access.may_wait() && !request.access.confirms
}

/// Whether an access writes, be it with some values only.
fn may_write(request: &Request) -> bool {
    !matches!(request.access.kind, AccessKind::Load)
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Schedules are explored.
    #[inline]
    fn schedules(&mut self) -> &mut Schedules {
        self.schedules.as_mut().expect("schedules are explored")
    }

    /// All starts again, from the empty graph.
    pub(super) fn clear_schedules(&mut self) {
        if let Some(schedules) = &mut self.schedules {
            schedules.clear();
        }
    }

    /// Whether all has to start again now that everything was explored.
    pub(super) fn has_learned(&mut self) -> bool {
        let learned = self.schedules.as_ref().is_some_and(|schedules| schedules.learned);
        self.restart |= learned;
        learned
    }

    /// Looks around before all starts again: what is left to explore is taken up at random, and the rest forgotten.
    pub(super) fn look_around(&mut self) -> Result<(), Over> {
        let Some(schedules) = &mut self.schedules else { return Ok(()) };
        let looks = schedules.begun.min(MOST_LOOKS);
        schedules.looks_around = true;
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..looks {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if self.restart {
                // Locations are not what they were.
                break;
            }
            if self.frames.is_empty() || self.frame().todo.is_empty() {
                self.empty_graph();
            } else {
                let todo = &mut self.frame().todo;
                todo.truncate((random % todo.len() as u64) as usize + 1);
                if let Some(entry) = todo.pop()
                    && self.take_up(entry)? == Go::Back
                {
                    continue;
                }
            }
            while self.extend()? == Go::On {}
        }
        self.schedules().looks_around = false;
        self.restart = false;
        Ok(())
    }

    /// The graph was cut back to an event, its newest one.
    pub(super) fn cut_schedule_behind(&mut self, e: EventId) {
        if let Some(schedules) = &mut self.schedules {
            schedules.cut(e.index() + 1);
            // It may be another one now.
            schedules.names.truncate(e.index());
            schedules.spurious.pop_if(|last| *last == e);
        }
    }

    /// Lets the thread run on whose turn it is.
    pub(super) fn run_on(&mut self) -> Result<Go, Over> {
        let Some(&Run { thread, begin, .. }) = self.schedules().runs.last() else {
            return Ok(self.end_run(None));
        };
        if !self.can_run(thread) {
            return Ok(self.end_run(Some((thread, Why::Ends, LocId::new(0)))));
        }
        let is_begun = self.is_open(thread) || self.graph().parts_done(thread) > 0;
        if !is_begun && self.has_been_here(thread) {
            return Ok(Go::Back);
        }
        let yields = !is_begun && self.runner.machine.lets_others_go(thread);
        if yields && self.graph().len() > begin as usize {
            self.make_room(thread, Why::Yields, LocId::new(0));
            if !self.visits(thread, Where::LoopBegins) {
                return Ok(Go::Back);
            }
        }
        self.frames.top.graph.yields = yields;
        if self.graph().len() >= self.options.limits.max_events {
            self.session.too_long(&self.runner.machine, thread)?;
        }
        let op = self.runner.machine.pending(thread);
        match Request::of(thread, op) {
            Some(request) => self.access(thread, &request),
            None => {
                let op = *op;
                self.synchronise(thread, &op)
            }
        }
    }

    /// Whether the thread that runs has come to where it has been: it may have made room before what it has just read, in another
    /// schedule, and that was not there yet.
    fn has_been_here(&mut self, thread: ThreadId) -> bool {
        let begin = self.schedules().runs.last().map_or(0, |run| run.begin) as usize;
        let graph = self.graph();
        let Some(last) = graph.last(thread).filter(|last| last.index() >= begin) else { return false };
        let read = if graph.event(last).is_write() { graph.event(last).pred } else { last };
        if !read.is_event() || graph.event(read).kind != Kind::Read || read.index() + 1 < last.index() {
            return false;
        }
        let Event { rf, pred, .. } = *graph.event(read);
        let is_news = rf.is_event() && graph.event(rf).thread != thread && !(pred.is_event() && graph.porf(rf, pred));
        is_news && !self.visits(thread, Where::AfterRead)
    }

    /// Notes where the thread that runs is; whether it was not there before.
    fn visits(&mut self, thread: ThreadId, place: Where) -> bool {
        let Some(schedules) = &mut self.schedules else { return true };
        let state = schedules.state(&self.frames.top.graph);
        let preemptions = schedules.preemptions();
        schedules.visit(place.name(state, thread), preemptions)
    }

    /// Whether the write of a read-modify-write comes next.
    fn is_open(&self, thread: ThreadId) -> bool {
        self.graph().last(thread).is_some_and(|last| self.graph().awaits_write(last))
    }

    /// Whether a thread is not at its end, nor at a thread that it joins and that has not ended.
    fn can_run(&self, thread: ThreadId) -> bool {
        let machine = &self.runner.machine;
        machine.status(thread) == Status::Ready
            && match machine.pending(thread) {
                Op::Join { thread: other } => machine.can_be_joined(*other),
                _ => true,
            }
    }

    /// Whether a thread may run next: it has done what it made room for, or can do it.
    fn may_run(&mut self, thread: ThreadId) -> bool {
        if !self.can_run(thread) {
            return false;
        }
        let request = Request::of(thread, self.runner.machine.pending(thread));
        let loc = request.and_then(|request| self.locations.get(request.access.addr));
        let loc = loc.filter(|&loc| self.graph().knows(loc));
        if let (Some(request), Some(loc)) = (&request, loc) {
            // Be it that it cannot run.
            self.comes_to(thread, request, loc);
        }
        let Some(schedules) = &self.schedules else { return false };
        let since = match schedules.stop_of(self.graph(), thread) {
            Some(stop) if stop.why == Why::Writes && !schedules.made_a_difference(self.graph(), stop) => return false,
            Some(Stop { why: Why::Reads, at, .. }) => at as usize,
            _ => 0,
        };
        let Some(request) = request.filter(|request| since > 0 || request.access.may_wait()) else { return true };
        let in_order = schedules.in_order;
        match loc {
            Some(loc) => {
                let newest = self.graph().newest(loc);
                let oldest = if in_order { newest } else { 0 };
                (oldest..=newest).rev().any(|at| self.is_source(thread, &request, loc, (at, since)))
            }
            None => !self.would_wait(thread, &request),
        }
    }

    /// Whether a thread would go on with the write at a place of the coherence order, if that is not older than `since`.
    fn is_source(&mut self, thread: ThreadId, request: &Request, loc: LocId, (position, since): (u32, usize)) -> bool {
        let graph = self.graph();
        let write = graph.location(loc).write_at(position);
        if since > 0 && !(write.is_event() && write.index() >= since) {
            return false;
        }
        if self.is_error(loc, write, request) {
            return true;
        }
        let (pred, value) = (graph.before_next(thread), graph.written(loc, write));
        let flags = self.flags_after(thread, request, pred, (write, value));
        let is_taken = flags.exclusive && self.graph().successor_rmw(loc, position).is_some();
        !flags.blocked && !is_taken
    }

    /// Plans what follows if a thread makes room where it stands.
    fn make_room(&mut self, thread: ThreadId, why: Why, loc: LocId) {
        let preemptions = self.schedules().preemptions() + why.preemptions();
        let bound = self.schedules().bound;
        if preemptions > bound {
            return;
        }
        let stop = Stop { at: self.graph().len() as u32, thread, why, loc };
        self.schedules().stops.push(stop);
        self.plan_runs(Some(thread), why, loc);
        self.schedules().stops.pop();
    }

    /// Plans runs of other threads.
    fn plan_runs(&mut self, last: Option<ThreadId>, why: Why, loc: LocId) {
        let threads = (0..self.runner.machine.thread_limit()).map(ThreadId::new);
        let others: SmallVec<[ThreadId; 8]> =
            threads.filter(|&other| Some(other) != last && self.may_run(other)).collect();
        if others.is_empty() {
            return;
        }
        let Some(schedules) = &mut self.schedules else { return };
        let frame = &mut self.frames.top;
        let preemptions = schedules.preemptions() + why.preemptions();
        let state = schedules.state(&frame.graph);
        let at = frame.graph.len() as u32;
        for thread in others.into_iter().rev() {
            let name = Where::RunBegins.name(state, thread);
            let was_visited = |name| schedules.was_visited(name, preemptions);
            if !was_visited(name) && !was_visited(Where::LoopBegins.name(state, thread)) {
                frame.todo.push(Todo::Run { at, thread, why, loc, preemptions, name });
            }
        }
    }

    /// Lets another thread run.
    pub(super) fn begin_run(
        &mut self,
        begin: u32,
        thread: ThreadId,
        (why, loc): (Why, LocId),
        (preemptions, name): (u32, Name),
    ) -> Go {
        let schedules = self.schedules();
        schedules.begun += 1;
        if !schedules.visit(name, preemptions) {
            return Go::Back;
        }
        self.back_to(begin);
        let schedules = self.schedules();
        if let Some(last) = schedules.runs.last()
            && why != Why::Ends
        {
            let stop = Stop { at: begin, thread: last.thread, why, loc };
            schedules.stops.push(stop);
        }
        let preemptions = preemptions - schedules.spurious.len() as u32;
        schedules.runs.push(Run { begin, thread, preemptions });
        Go::On
    }

    /// A run has come to its end, if there was one.
    fn end_run(&mut self, last: Option<(ThreadId, Why, LocId)>) -> Go {
        if self.has_failed_in_vain() {
            return Go::Back;
        }
        match last {
            Some((thread, why, loc)) if why != Why::Ends => self.make_room(thread, why, loc),
            Some((thread, why, loc)) => self.plan_runs(Some(thread), why, loc),
            None => self.plan_runs(None, Why::Ends, LocId::new(0)),
        }
        // If all wait that are left, somebody may have something older to read. Otherwise they do so for ever.
        if self.unfinished().into_iter().all(|thread| self.is_stuck(thread)) {
            let at = self.graph().len() as u32;
            self.frame().todo.push(Todo::End { at });
        }
        Go::Back
    }

    /// Whether an attempt of some thread has failed, and might not now. If its thread may make room before it without a preemption,
    /// there is another schedule in which it is made now, and here nothing comes of it.
    fn has_failed_in_vain(&self) -> bool {
        let (machine, graph) = (&self.runner.machine, self.graph());
        let fails = |thread: ThreadId| machine.status(thread) == Status::AssumeBlocked && machine.spins(thread);
        let yields = |thread| ending::iteration(machine, graph, thread).is_some_and(|first| graph.event(first).yields);
        let mut threads = (0..machine.thread_limit()).map(ThreadId::new);
        threads.any(|t| fails(t) && yields(t) && !ending::reads_the_same_again(machine, graph, t))
    }

    /// Who is not at his end, nor waits for another thread's.
    fn unfinished(&self) -> SmallVec<[ThreadId; 8]> {
        let threads = (0..self.runner.machine.thread_limit()).map(ThreadId::new);
        threads.filter(|&thread| self.can_run(thread)).collect()
    }

    /// Nobody runs any more.
    pub(super) fn end_schedule(&mut self, at: u32) -> Result<Go, Over> {
        self.back_to(at);
        let learned = self.schedules().learned;
        let frame = &self.frames.top;
        let Some(schedules) = &mut self.schedules else { return Ok(Go::Back) };
        let is_new = schedules.is_new(&frame.graph);
        let looks_around = schedules.looks_around;
        self.restart |= learned && !looks_around;
        if !is_new || looks_around || self.restart {
            return Ok(Go::Back);
        }
        self.catch_up()?;
        for thread in self.unfinished() {
            if self.add_blocked(thread)? == Go::Back {
                return Ok(Go::Back);
            }
        }
        self.conclude()?;
        Ok(Go::Back)
    }

    /// Goes back to a graph of so many events, before something is done there.
    fn back_to(&mut self, len: u32) {
        let graph = &mut self.frames.top.graph;
        graph.cut(len as usize);
        self.runner.forget_from(graph.executed.len());
        self.schedules().cut(len as usize);
    }

    fn bound(&self) -> u32 {
        self.options.preemptions.unwrap_or(u32::MAX)
    }

    /// Whether what a thread waits for is not there.
    fn is_stuck(&mut self, thread: ThreadId) -> bool {
        let Some(request) = Request::of(thread, self.runner.machine.pending(thread)) else { return false };
        may_wait(&request) && self.would_wait(thread, &request)
    }

    /// Whether a thread would wait if it read what is newest.
    fn would_wait(&mut self, thread: ThreadId, request: &Request) -> bool {
        let Some((value, write)) = self.newest_value(thread, request) else { return false };
        let pred = self.graph().before_next(thread);
        self.flags_after(thread, request, pred, (write, value)).blocked
    }

    /// Adds the read of a thread that waits for ever.
    fn add_blocked(&mut self, thread: ThreadId) -> Result<Go, Over> {
        let request = self.pending_request(thread);
        // It may be its first event.
        let loc = match self.locate(thread, &request) {
            Ok(Located::Whole(loc)) => loc,
            Ok(Located::Part(..) | Located::Cut) => return Ok(Go::Back),
            Err(stop) => return self.stopped(stop).map(|()| Go::Back),
        };
        self.touch(thread, &request, loc);
        let e = self.add_plain_read(thread, &request, loc);
        self.value_has_changed(e, &request);
        Ok(Go::On)
    }

    /// Adds a read of what is newest.
    fn add_plain_read(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> EventId {
        let access = &request.access;
        let graph = &mut self.frames.top.graph;
        let rf = graph.location(loc).write_at(graph.newest(loc));
        let value = graph.written(loc, rf);
        let draft = graph.draft(thread, Kind::Read);
        graph.add_read(Event {
            loc,
            value,
            rf,
            base: rf,
            locked: request.reads() && !matches!(access.kind, AccessKind::Load),
            order: access.order,
            role: request.role,
            confirms: access.confirms,
            part: request.part,
            ..draft
        })
    }

    /// An access to a location, by the thread that runs.
    pub(super) fn access_in_run(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Result<Go, Over> {
        self.comes_to(thread, request, loc);
        let begin = self.schedules().runs.last().map_or(0, |run| run.begin);
        let is_first_part = request.part.is_none_or(|part| part.before == 0);
        if self.graph().len() > begin as usize && is_first_part {
            if may_wait(request) && self.would_wait(thread, request) {
                // If there is something older to read, it may wait all the same.
                if self.has_other_source(thread, request, loc) {
                    self.end_run(Some((thread, Why::Waits, loc)));
                }
            } else if !self.graph().yields {
                self.plan_room(thread, request, loc);
            }
        }
        if request.reads() { self.read_in_run(thread, request, loc) } else { self.store(thread, request, loc) }
    }

    /// Plans what follows if the thread that runs makes room before an access.
    fn plan_room(&mut self, thread: ThreadId, request: &Request, loc: LocId) {
        let may_write = may_write(request);
        let (me, others) = (bit(thread), !only(bit(thread)));
        // What is plain reads what happens before it, or there is a race, and nothing is explored any more.
        let ends_with_race = self.options.limits.data_races && !self.options.limits.all;
        if ends_with_race && !request.access.order.is_atomic() {
            return;
        }
        // What is new is nothing to who confirms what was there.
        let is_confirmed = self.confirmed_in_run(thread, request, loc).is_some();
        let schedules = self.schedules();
        // If it may write, it is enough that somebody else reads, if everything happens in order.
        let may_read = request.reads() && !(may_write && schedules.in_order) && !is_confirmed;
        let is_at_bound = schedules.preemptions() >= schedules.bound;
        let known = schedules.known(loc);
        let (writers, concerned) = (known.writers & others, known.concerned & others);
        if is_at_bound {
            if may_read || schedules.in_order {
                let access = EventId::new(self.graph().len());
                self.schedules().passed.push(access);
            }
            return;
        }
        known.read |= if may_read && writers == 0 { me } else { 0 };
        known.written |= if may_write && concerned == 0 { me } else { 0 };
        if may_write && concerned != 0 {
            self.make_room(thread, Why::Writes, loc);
        }
        if may_read && writers != 0 {
            self.make_room(thread, Why::Reads, loc);
        }
    }

    /// Notes that a thread has come to an access.
    fn comes_to(&mut self, thread: ThreadId, request: &Request, loc: LocId) {
        let may_write = may_write(request);
        self.schedules().learn(thread, loc, (may_write, may_wait(request)));
        self.look_at_attempt(thread, request, loc);
        if self.might_have_come_first(thread, may_write, loc) {
            self.note_bound(self.bound());
        }
    }

    /// Whether what a thread is about to do would make a difference to somebody who could have made room for it, with one preemption more.
    fn might_have_come_first(&self, thread: ThreadId, may_write: bool, loc: LocId) -> bool {
        let graph = self.graph();
        let before = graph.before_next(thread);
        let might_have = |&e: &EventId| {
            let event = graph.event(e);
            let writes = may_write || event.is_write() || event.exclusive;
            event.loc == loc && event.thread != thread && writes && !(before.is_event() && graph.porf(e, before))
        };
        self.schedules.as_ref().is_some_and(|schedules| schedules.passed.iter().any(might_have))
    }

    /// Whether a thread that would wait if it read what is newest might go on with something older.
    fn has_other_source(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> bool {
        let end = if self.schedules().in_order { 0 } else { self.graph().newest(loc) };
        (0..end).any(|position| self.is_source(thread, request, loc, (position, 0)))
    }

    /// A read by the thread that runs.
    fn read_in_run(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Result<Go, Over> {
        let stop = self.schedules.as_ref().and_then(|schedules| schedules.stop_of(self.graph(), thread));
        let duty = stop.filter(|stop| stop.why == Why::Reads).map_or(0, |stop| stop.at as usize);
        let only = self.confirmed_in_run(thread, request, loc);
        let e = self.add_plain_read(thread, request, loc);
        let newest = self.graph().newest(loc);
        let lowest = if self.schedules().in_order { newest } else { self.lower_bound(e) };
        let mut sources: SmallVec<[EventId; 8]> = SmallVec::new();
        for position in lowest..=newest {
            let graph = self.graph();
            let write = graph.location(loc).write_at(position);
            let is_news = write.is_event() && write.index() >= duty;
            if duty > 0 && !is_news || only.is_some_and(|only| write != only) {
                continue;
            }
            let flags = self.flags_of(e, request, (write, self.graph().written(loc, write)));
            let is_taken = flags.exclusive && self.graph().successor_rmw(loc, position).is_some();
            if !flags.blocked && !is_taken {
                sources.push(write);
            }
        }
        let last = self.graph().event(e).rf;
        let reads_last = sources.last() == Some(&last);
        let is_found = !sources.is_empty();
        sources.truncate(sources.len() - usize::from(reads_last));
        let others = sources.into_iter().map(|write| Todo::Source { read: e, write, older: None });
        self.frames.top.todo.extend(others);
        if reads_last {
            self.value_has_changed(e, request);
            return self.has_read(e, request);
        }
        // The attempt has failed. Who passed something by before that might have made room for somebody who is not met here any more.
        if !is_found && request.access.confirms && !self.schedules().passed.is_empty() {
            self.note_bound(self.bound());
        }
        let begin = self.schedules().runs.last().map_or(0, |run| run.begin);
        // If it may read something older, it was planned that it waits instead.
        if is_found || duty > 0 || e.index() == begin as usize || !may_wait(request) {
            return Ok(Go::Back);
        }
        self.frames.top.graph.cut(e.index());
        let waits_anyway = self.has_other_source(thread, request, loc);
        Ok(if waits_anyway { Go::Back } else { self.end_run(Some((thread, Why::Waits, loc))) })
    }

    /// Whether writes are placed behind all others.
    #[inline]
    pub(super) fn writes_in_order(&self) -> bool {
        self.schedules.as_ref().is_some_and(|schedules| schedules.in_order)
    }

    /// Something has happened for no reason, if it has: whether that is more than the bound allows.
    pub(super) fn is_too_much(&mut self, e: EventId) -> bool {
        let is_spurious = self.graph().event(e).is_spurious();
        let Some(schedules) = &mut self.schedules else { return false };
        if is_spurious {
            schedules.spurious.push(e);
        }
        let (too_much, bound) = (schedules.preemptions() > schedules.bound, schedules.bound);
        if too_much {
            self.note_bound(bound);
        }
        too_much
    }

    /// Notes that something was left out.
    pub(super) fn note_bound(&mut self, bound: u32) {
        let what = format!("executions to {bound} preemptions");
        let kind = BoundKind::Preemptions { preemptions: bound };
        self.session.bounded(Bound { kind, what, place: SourceSpan::default() });
    }
}

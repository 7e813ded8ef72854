//! Composite awaits: attempts that read several things, and start again if these do not fit together.
//!
//! This is not in the paper, whose awaits are single reads. A reader that looks at a sequence number again, a queue that
//! reads head and tail, a lock that tries two exchanges: whether such an attempt fails depends on all that it has read.
//! With one read of it revisited or stale, it may or may not get on when another one is, and if nothing comes of it, it has
//! been explored in vain.
//!
//! Here the reads of an attempt, from the last change that the thread made to the next one (or up to an access that waits for
//! a condition of its own, as an await does that is not repeated with others), are taken together. When it is
//! the thread's turn, all its reads are added at once, and all combinations of writes that are in the graph are tried;
//! those that fail are dropped on the spot. What is left is the executions in which the attempt reads from some write that
//! is *not* in the graph yet. These are a branch of their own, in which the thread waits, and takes its turn again when a
//! location was written that it looks at. Then at least one of its reads must be from a new write: the others were tried
//! before. So every combination is explored once, at the first turn at which all its writes are there, and reads of an
//! attempt are never revisited.
//!
//! | turn | with coherence-last values the attempt | in that branch it |
//! |---|---|---|
//! | [`Turn::Now`] | gets on | reads |
//! | [`Turn::Later`] | gets on | waits |
//! | [`Turn::Stale`] | fails | reads something older |
//! | [`Turn::Waits`] | fails | waits |
//! | [`Turn::Last`] | fails | reads: nobody can do anything else, and it is a livelock |
//!
//! A turn is an event, a choice like that of a number. `Now` and `Waits` are the maximal choices, so that they may be
//! deleted by revisits of older reads, and the others may not (`backward.rs`). `Waits` is no restriction: the thread comes
//! back whenever it could get on. `Later` is, so it is explored only if the branch `Now` has shown that somebody who does
//! not depend on the attempt writes, or would write if the attempt had not taken what it exchanges, a location that the
//! attempt looks at; and `ways.rs` keeps to how that came about. If in some part of that branch nobody does so after all, the
//! execution ends with a thread that could get on, and is counted as blocked.
//!
//! Nothing has to be known of the program: that its writes are ordered, that values are distinct, what is between two
//! reads. The price are the combinations that fail, and the executions that end like that. So only attempts are taken
//! together that were once left blocked in vain: then the exploration starts again. They are known by the place in the
//! program of their first read.

use super::sites::Sites;
use super::start_again::LastReads;
use super::ways::{self, PutOff, Way, Ways};
use super::whole::Wholes;
use super::{Explorer, Go, Todo};
use crate::event::{Event, EventId, INIT, Kind, LocId, Turn};
use crate::joint::Joint;
use crate::models::Model;
use crate::request::{self, Request};
use rustc_hash::FxHashSet;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Machine, Op, SourceSpan, Status, ThreadId};
use std::sync::Arc;

/// More reads than that in one attempt: it is not tried out further.
const LONGEST_ATTEMPT: usize = 1000;

/// What is known of the attempts of a program.
#[derive(Clone, Default, Debug)]
pub(crate) struct Attempts {
    /// Where those begin that are taken together.
    sites: Sites,
    /// Where those begin that are not suitable.
    refused: FxHashSet<SourceSpan>,
    /// Where these end.
    pub last_reads: LastReads,
}

/// What is known of composite awaits.
#[derive(Default)]
pub(super) struct Composites {
    pub attempts: Attempts,
    /// The turns on the list of what is left to explore, oldest first.
    pub turns: Vec<Open>,
    /// Sets of locations that attempts look at.
    footprints: Vec<Vec<LocId>>,
    /// How news comes to attempts that were put off.
    pub put_off: PutOff,
    /// Memory for a way.
    way: Way,
    /// Whether iterations that attempts end with are such attempts themselves.
    pub whole: Wholes,
}

/// What is known of a turn that is being explored.
#[derive(Default)]
pub(super) struct Open {
    /// The locations that the attempt has looked at, with any values.
    pub footprint: Vec<LocId>,
    /// The locations that others have written who do not depend on it.
    pub news: Vec<LocId>,
    /// How they came to do so.
    pub ways: Ways,
    /// Where it looks with the coherence-last values.
    pub path: Vec<Addr>,
    /// What other workers find out about it, if some explore a part of what follows from it.
    pub joint: Option<Arc<Joint>>,
}

impl Open {
    /// Whether somebody writes what the attempt looks at.
    pub fn has_news(&self) -> bool {
        self.footprint.iter().any(|loc| self.news.contains(loc))
    }
}

/// What happens next.
pub(super) enum Next {
    /// A thread adds an event.
    Thread(ThreadId),
    /// The graph is full.
    Nobody,
    /// An attempt has failed, or has read nothing new: it is not explored.
    Failed,
    /// An attempt has come to an access that waits for a condition of its own.
    Waits(EventId),
    /// An attempt has failed, but what the thread would start again may be its newest part only (`whole.rs`).
    Spins(EventId),
}

impl Composites {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.attempts.sites.is_empty()
    }

    /// Whether nothing has been found out of the attempts of the program.
    #[inline]
    pub fn knows_nothing(&self) -> bool {
        self.attempts.sites.is_empty() && self.attempts.last_reads.sites.is_empty()
    }

    /// What is known of the attempts of the program.
    pub fn known(&self) -> Attempts {
        self.attempts.clone()
    }

    /// Begins with what is known of the attempts of the program.
    pub fn learn(&mut self, known: &Attempts) {
        self.attempts.clone_from(known);
    }

    /// Sets of locations by their numbers.
    pub fn footprints(&self) -> &[Vec<LocId>] {
        &self.footprints
    }

    /// Nothing is being explored any more.
    pub fn forget_turns(&mut self) {
        self.turns.clear();
        self.put_off.clear();
    }

    /// The number of a set of locations.
    pub fn number(&mut self, mut footprint: Vec<LocId>) -> u64 {
        footprint.sort_unstable();
        let known = self.footprints.iter().position(|other| *other == footprint);
        let number = known.unwrap_or_else(|| {
            self.footprints.push(footprint);
            self.footprints.len() - 1
        });
        number as u64
    }
}

fn insert(set: &mut Vec<LocId>, loc: LocId) {
    if !set.contains(&loc) {
        set.push(loc);
    }
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// `next_P`: an attempt that has begun is finished first.
    #[inline]
    pub(super) fn next(&mut self) -> Next {
        if !self.composites.is_empty()
            && let Some(next) = self.finish_attempt()
        {
            return next;
        }
        match self.next_thread() {
            Some(thread) => Next::Thread(thread),
            None if self.composites.is_empty() => Next::Nobody,
            None => self.last_turn().map_or(Next::Nobody, Next::Thread),
        }
    }

    /// Goes on with an attempt that is not over, and looks at what has become of those that are.
    #[inline(never)]
    pub(super) fn finish_attempt(&self) -> Option<Next> {
        let (graph, machine) = (self.graph(), &self.runner.machine);
        for thread in (0..graph.thread_limit()).map(ThreadId::new) {
            let Some(turn) = self.open_turn(thread) else { continue };
            if graph.event(turn).turn == Turn::Last {
                continue;
            }
            let last = graph.last(thread).expect("the turn is an event of the thread");
            let writes = graph.awaits_write(last);
            let failed = match machine.status(thread) {
                Status::Ready if graph.event(last).blocked => true,
                Status::Ready if !writes && goes_on_reading(thread, machine.pending(thread), last == turn) => {
                    return Some(Next::Thread(thread));
                }
                Status::AssumeBlocked => machine.spins(thread),
                _ => false,
            };
            let has_read_news = self.has_read_news(thread, turn);
            if failed && has_read_news && self.may_be_a_part(thread, turn) {
                return Some(Next::Spins(turn));
            }
            if failed || !has_read_news {
                return Some(Next::Failed);
            }
            if writes {
                return Some(Next::Thread(thread));
            }
            if machine.status(thread) == Status::Ready && waits_by_itself(thread, machine.pending(thread)) {
                return Some(Next::Waits(turn));
            }
        }
        None
    }

    /// An attempt does not fail or get on, but may sleep on the way. To put it off as a whole would leave more blocked than
    /// it spares: all starts again without that.
    #[cold]
    pub(super) fn refuse(&mut self, turn: EventId) {
        let graph = &self.frames.top.graph;
        let Event { thread, index, .. } = *graph.event(turn);
        let first = graph.thread(thread)[index as usize];
        self.runner.bring_before(graph, first);
        let span = self.runner.machine.site(thread).span;
        self.composites.attempts.sites.remove(&span);
        self.composites.attempts.refused.insert(span);
        self.restart = true;
    }

    /// Whether an attempt has read from a write that was not there when the thread took its turn before.
    fn has_read_news(&self, thread: ThreadId, turn: EventId) -> bool {
        let graph = self.graph();
        let before = graph.event(turn).pred;
        if !before.is_event() || graph.event(before).kind != Kind::Turn {
            return true;
        }
        let reads = graph.thread(thread)[graph.event(turn).index as usize..].iter().map(|&e| graph.event(e));
        reads.into_iter().any(|event| event.is_read() && event.rf.is_event() && event.rf > before)
    }

    /// The turn that a thread has taken, if it has done nothing but read since, be it until something went wrong.
    pub(super) fn open_turn(&self, thread: ThreadId) -> Option<EventId> {
        if self.composites.is_empty() {
            return None;
        }
        Some(self.graph().open_turn(thread)).filter(|turn| turn.is_event())
    }

    /// The turn that what a thread asks for is part of.
    pub(super) fn turn_of(&self, thread: ThreadId, request: &Request) -> Option<EventId> {
        let turn = self.open_turn(thread)?;
        let waits = waits_for_itself(&request.access);
        (request.reads() && (!waits || self.graph().last(thread) == Some(turn))).then_some(turn)
    }

    /// Makes what a thread asks for what it is: in a composite await, nothing is speculative, and with the last read of an
    /// attempt that is not taken together a thread may spin.
    #[inline]
    pub(super) fn make_composite(&self, thread: ThreadId, request: &mut Request) {
        if self.composites.knows_nothing() {
            return;
        }
        if self.turn_of(thread, request).is_some() {
            request.access.speculative = None;
            request.access.confirms = false;
        } else if self.may_start_again(thread) {
            request.access.spins = true;
        }
    }

    /// The turn that a thread waits for.
    fn waiting_turn(&self, thread: ThreadId) -> Option<EventId> {
        let graph = self.graph();
        graph.last(thread).filter(|&last| {
            let event = graph.event(last);
            event.kind == Kind::Turn && event.turn.is_put_off()
        })
    }

    /// Whether a thread waits for its turn, and nothing that it looks at has been written.
    #[inline(never)]
    pub(super) fn waits_for_news(&self, thread: ThreadId) -> bool {
        let Some(turn) = self.waiting_turn(thread) else { return false };
        let graph = self.graph();
        let footprint = &self.composites.footprints[graph.event(turn).value as usize];
        let is_written = |&loc: &LocId| graph.knows(loc) && graph.location(loc).co.iter().any(|&w| w > turn);
        !footprint.iter().any(is_written)
    }

    /// Whether a thread is about to begin a composite await.
    #[inline]
    pub(super) fn is_at_turn(&self, thread: ThreadId) -> bool {
        !self.composites.is_empty() && self.has_turn(thread)
    }

    fn has_turn(&self, thread: ThreadId) -> bool {
        if self.waiting_turn(thread).is_some() {
            return true;
        }
        let machine = &self.runner.machine;
        self.open_turn(thread).is_none()
            && matches!(machine.pending(thread), Op::Access(access) if access.reads())
            && self.composites.attempts.sites.contains(machine, thread)
    }

    /// Remembers whether attempts begin or end where a thread stands.
    pub(super) fn look_up_place(&mut self, thread: ThreadId) {
        let Attempts { sites, last_reads, .. } = &mut self.composites.attempts;
        if !sites.is_empty() {
            sites.look_up(&self.runner.machine, thread);
        }
        if !last_reads.sites.is_empty() {
            last_reads.sites.look_up(&self.runner.machine, thread);
        }
    }

    /// A thread takes its turn: what it can read is explored first, and whether it waits after that.
    #[inline(never)]
    pub(super) fn take_turn(&mut self, thread: ThreadId) {
        let before = self.waiting_turn(thread);
        let mut path = Vec::new();
        let (gets_on, news) = self.would_get_on(thread, before, &mut path);
        let number = self.composites.turns.len() as u64;
        self.composites.turns.push(Open { path, ..Open::default() });
        let frame = self.frame();
        let draft = frame.graph.draft(thread, Kind::Turn);
        let turn = if gets_on && news { Turn::Now } else { Turn::Stale };
        let e = frame.graph.add(Event { turn, value: number, ..draft });
        frame.todo.push(if turn == Turn::Now { Todo::Later { turn: e } } else { Todo::Wait { turn: e } });
    }

    /// Whether an attempt with the coherence-last values gets on, and whether it reads something newer than an event.
    fn would_get_on(&mut self, thread: ThreadId, newer: Option<EventId>, path: &mut Vec<Addr>) -> (bool, bool) {
        self.runner.machine.mark();
        let (mut gets_on, mut news) = (None, newer.is_none());
        for step in 0..LONGEST_ATTEMPT {
            match self.status_of_attempt(thread, step == 0) {
                Ok((outcome, write)) => {
                    path.extend(self.pending_address(thread));
                    news |= newer.is_some_and(|newer| write.is_event() && write > newer);
                    if self.runner.machine.resume(thread, outcome).is_err() {
                        break;
                    }
                }
                Err((over, write)) => {
                    path.extend(write.and_then(|_| self.pending_address(thread)));
                    news |= write.zip(newer).is_some_and(|(write, newer)| write.is_event() && write > newer);
                    gets_on = Some(over);
                    break;
                }
            }
        }
        self.runner.machine.undo();
        (gets_on.unwrap_or(true), news)
    }

    fn pending_address(&self, thread: ThreadId) -> Option<Addr> {
        Request::of(thread, self.runner.machine.pending(thread)).map(|request| request.access.addr)
    }

    /// What an attempt is told next, and from which write, if it goes on with the coherence-last values; else whether it
    /// got on, and the write that its last read would read from.
    fn status_of_attempt(
        &mut self,
        thread: ThreadId,
        just_begun: bool,
    ) -> Result<(u64, EventId), (bool, Option<EventId>)> {
        let machine = &self.runner.machine;
        if machine.status(thread) != Status::Ready {
            return Err((!(machine.status(thread) == Status::AssumeBlocked && machine.spins(thread)), None));
        }
        if matches!(machine.pending(thread), Op::Fence { .. }) {
            return Ok((0, crate::event::NONE));
        }
        if !goes_on_reading(thread, machine.pending(thread), just_begun) {
            return Err((true, None));
        }
        let Some(request) = Request::of(thread, machine.pending(thread)) else { return Err((true, None)) };
        // What was never written is looked at all the same: that it is an error is over with the first write to it.
        let Some((value, write)) = self.newest_value(thread, &request) else { return Err((true, Some(INIT))) };
        // Only at first is the machine where the graph is.
        let flags = match just_begun {
            true => self.flags_after(thread, &request, self.graph().before_next(thread), (write, value)),
            false => self.flags(thread, &request, value),
        };
        if flags.blocked || flags.exclusive {
            return Err((!flags.blocked, Some(write)));
        }
        Ok((request::outcome(request.role, thread, value), write))
    }

    /// Nobody can do anything but threads that wait for their turn. One that would fail does so; others are left.
    #[inline(never)]
    fn last_turn(&mut self) -> Option<ThreadId> {
        for thread in (0..self.graph().thread_limit()).map(ThreadId::new) {
            if self.waiting_turn(thread).is_some() && !self.would_get_on(thread, None, &mut Vec::new()).0 {
                let graph = &mut self.frame().graph;
                let draft = graph.draft(thread, Kind::Turn);
                graph.add(Event { turn: Turn::Last, ..draft });
                return Some(thread);
            }
        }
        None
    }

    /// Notes that an attempt looks at a location; the oldest place in coherence order that it may read from.
    #[inline(never)]
    pub(super) fn read_in_turn(&mut self, read: EventId, turn: EventId) -> u32 {
        let (loc, Event { turn, value: number, .. }) = (self.graph().event(read).loc, *self.graph().event(turn));
        if turn == Turn::Last {
            return self.graph().newest(loc);
        }
        insert(&mut self.composites.turns[number as usize].footprint, loc);
        self.lower_bound(read)
    }

    /// Notes that somebody writes, for attempts that this does not depend on; or that somebody would write, if a rival had
    /// not taken what it exchanges, for attempts that the rival depends on.
    #[inline]
    pub(super) fn note_news(&mut self, e: EventId, rival: Option<EventId>) {
        if !self.composites.turns.is_empty() {
            self.note_news_of(e, rival);
        }
    }

    fn note_news_of(&mut self, e: EventId, rival: Option<EventId>) {
        let thread = self.graph().event(e).thread;
        if self.open_turn(thread).is_some_and(|turn| !self.has_read_news(thread, turn)) {
            return;
        }
        let graph = &self.frames.top.graph;
        let loc = graph.event(e).loc;
        let helps = |turn: EventId| rival.is_none_or(|rival| graph.porf(turn, rival));
        for turn in graph.ids() {
            let event = graph.event(turn);
            if event.kind == Kind::Turn && event.turn == Turn::Now && !graph.porf(turn, e) && helps(turn) {
                let open = &mut self.composites.turns[event.value as usize];
                insert(&mut open.news, loc);
                ways::note(&mut open.ways, graph, turn, e, &mut self.composites.way);
            }
        }
    }

    /// An attempt that could read waits instead, if there is something to wait for.
    pub(super) fn put_off(&mut self, turn: EventId) -> Go {
        match self.close_turn(turn, Todo::Later { turn }) {
            Some(open) if open.has_news() => self.set_aside(turn, Turn::Later, open),
            _ => Go::Back,
        }
    }

    /// An attempt that would fail waits.
    pub(super) fn wait(&mut self, turn: EventId) -> Go {
        match self.close_turn(turn, Todo::Wait { turn }) {
            Some(open) => self.set_aside(turn, Turn::Waits, open),
            None => Go::Back,
        }
    }

    fn set_aside(&mut self, e: EventId, turn: Turn, open: Open) -> Go {
        self.cut_behind(e);
        debug_assert_eq!(self.graph().event(e).value, self.composites.turns.len() as u64, "turns are a stack");
        let path = open.path.iter().filter_map(|addr| self.locations.get(*addr)).collect();
        let frames = &self.frames;
        let graphs = || frames.iter().flat_map(|frame| frame.graph.ids().map(|e| frame.graph.event(e)));
        let in_use = || graphs().filter(|event| event.kind == Kind::Turn).map(|event| event.co).collect();
        let ways = match turn {
            Turn::Later => self.composites.put_off.number(open.ways.to(&open.footprint, &self.runner.places), in_use),
            _ => 0,
        };
        let numbers = (self.composites.number(open.footprint), self.composites.number(path));
        let graph = &mut self.frame().graph;
        graph.set_turn(e, turn, numbers);
        graph.set_ways(e, ways);
        Go::On
    }

    /// Notes which attempts were left blocked in vain, and whether there are any: then all starts again.
    pub(super) fn note_composites(&mut self) -> bool {
        let reductions = self.options.reductions;
        if !(reductions.composite && reductions.speculative && reductions.in_place) {
            return false;
        }
        let mut found = false;
        // All of them, before the machine is taken back to where some began.
        let threads = (0..self.graph().thread_limit()).map(ThreadId::new);
        let failed = threads.filter_map(|thread| Some((thread, self.failed_in_vain(thread)?)));
        let has_ended = |thread| self.runner.machine.status(thread) == Status::AssumeBlocked;
        let failed: Vec<_> = failed.map(|(thread, first)| (thread, first, has_ended(thread))).collect();
        for (thread, first, has_ended) in failed {
            let graph = &self.frames.top.graph;
            self.runner.bring_before(graph, first);
            let span = self.runner.machine.site(thread).span;
            if !self.composites.attempts.refused.contains(&span) {
                found |= self.composites.attempts.sites.insert(span);
                continue;
            }
            if !has_ended {
                continue;
            }
            let graph = &self.frames.top.graph;
            let last = graph.last(thread).expect("it has read something");
            self.runner.bring_before(graph, last);
            let machine = &self.runner.machine;
            if let Op::Access(access) = machine.pending(thread) {
                found |= self.composites.attempts.last_reads.insert(machine.site(thread).span, access);
            }
        }
        self.restart |= found;
        found
    }

    /// The first read of an attempt that has failed although something it has read was not up to date.
    fn failed_in_vain(&self, thread: ThreadId) -> Option<EventId> {
        let (graph, machine) = (self.graph(), &self.runner.machine);
        let last = graph.last(thread)?;
        let stale = |&e: &EventId| graph.position(e) < graph.newest(graph.event(e).loc);
        match machine.status(thread) {
            Status::Ready if graph.event(last).blocked && !graph.event(last).reads_nothing() => {
                if waits_for_itself(&self.pending_request(thread).access) {
                    // It waits for this alone.
                    return Some(last).filter(stale);
                }
            }
            Status::AssumeBlocked if machine.spins(thread) => {}
            _ => return None,
        }
        let events = graph.thread(thread).iter().rev().copied();
        let attempt = events.take_while(|&e| matches!(graph.event(e).kind, Kind::Read | Kind::Fence));
        let mut reads = attempt.filter(|&e| graph.event(e).is_read());
        let first = reads.clone().last()?;
        reads.any(|e| stale(&e)).then_some(first)
    }
}

/// Whether an attempt that a thread has just begun, or has begun some time ago, goes on with an Op: if it reads. An access
/// that waits for a condition of its own, however the thread came there, is no part of what came before.
fn goes_on_reading(thread: ThreadId, op: &Op, just_begun: bool) -> bool {
    match op {
        Op::Fence { .. } => true,
        Op::Access(access) => access.reads() && (just_begun || !waits_by_itself(thread, op)),
        _ => Request::of(thread, op).is_some() && (just_begun || !waits_by_itself(thread, op)),
    }
}

/// Whether an Op is an access that waits for a condition of its own.
fn waits_by_itself(thread: ThreadId, op: &Op) -> bool {
    match op {
        Op::Access(access) => waits_for_itself(access),
        _ => Request::of(thread, op).is_some_and(|request| waits_for_itself(&request.access)),
    }
}

fn waits_for_itself(access: &Access) -> bool {
    access.may_wait() && access.until.is_none_or(|until| !until.retry)
}

//! The exploration (Algorithm 1): every consistent execution graph, each once.
//!
//! Graphs are built event by event. Whatever else an event could have read, where else a write could have been placed
//! and which reads it could have revisited is put on a list. When a graph is full, the newest entry of the list is
//! taken: the graph is cut back to the event that the entry belongs to, changed, and built on. A backward revisit makes
//! a graph of its own, with a list of its own, on a stack of graphs; memory is the longest such stack.
//!
//! The recursion of the paper is the order in which entries are taken: the newest first.

use crate::backward;
use crate::event::{BOTTOM, Event, EventId, INIT, Kind, LocId};
use crate::graph::Graph;
use crate::models::{Model, Scratch};
use crate::runner::Runner;
use crate::{Full, OnFull, Options, ending, race};
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::memory::ObjectKind;
use selvedge_machine::verdict::Progress;
use selvedge_machine::{Access, AccessKind, Addr, Fault, Machine, Op, Status, Stop, ThreadId, Unsupported};
use selvedge_trace::session::{Over, Session};
use smallvec::SmallVec;
use std::marker::PhantomData;

mod speculative;

/// Something that is left to explore.
#[derive(Clone, Copy, Debug)]
enum Todo {
    /// A read reads from another write.
    Source { read: EventId, write: EventId },
    /// A write is placed elsewhere in coherence order.
    Place { write: EventId, position: u32 },
    /// Another number is chosen.
    Choice { event: EventId, choice: u64 },
    /// A write revisits a read.
    Back { write: EventId, read: EventId },
    /// A speculative read takes what another one has read, which waits for it.
    Speculate { read: EventId, write: EventId, other: EventId },
}

/// A graph and what is left to explore of it.
#[derive(Default)]
struct Frame {
    graph: Graph,
    todo: Vec<Todo>,
}

/// Whether the present graph goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Go {
    On,
    Back,
}

/// An exploration.
pub struct Explorer<'a, 's, 'f, M, Mo> {
    runner: Runner<M>,
    options: &'a Options,
    session: &'a mut Session<'s>,
    full: Option<&'a mut OnFull<'f>>,
    frames: Vec<Frame>,
    spare: Vec<Frame>,
    locations: FxHashMap<Addr, LocId>,
    scratch: Scratch,
    names: Vec<EventId>,
    waiting: Vec<EventId>,
    /// What is known of locations over all graphs.
    habits: Vec<Habits>,
    restart: bool,
    restarts: u32,
    model: PhantomData<Mo>,
}

/// What the program does with a location.
#[derive(Clone, Copy, Default, Debug)]
struct Habits {
    /// Some read of it waits for a condition.
    awaited: bool,
    /// Some of its writes are not ordered by program order and reads-from.
    unordered: bool,
    /// Some read of it is speculative.
    speculative: bool,
    /// Speculative reads of it are used in a way that the theorem does not cover: a value is written twice, or the
    /// thread does something else than read before it confirms.
    irregular: bool,
}

impl Habits {
    /// Whether reads may be read again in place: only if writes are ordered.
    fn in_place(self) -> bool {
        !((self.awaited || self.speculative) && self.unordered)
    }

    /// Whether speculative reads are treated as such.
    fn speculates(self) -> bool {
        self.in_place() && !self.irregular
    }
}

impl<'a, 's, 'f, M: Machine, Mo: Model> Explorer<'a, 's, 'f, M, Mo> {
    /// An exploration of a machine that has been started.
    pub fn new(
        machine: M,
        options: &'a Options,
        session: &'a mut Session<'s>,
        full: Option<&'a mut OnFull<'f>>,
    ) -> Explorer<'a, 's, 'f, M, Mo> {
        Explorer {
            runner: Runner::new(machine),
            options,
            session,
            full,
            frames: vec![Frame::default()],
            spare: Vec::new(),
            locations: FxHashMap::default(),
            scratch: Scratch::default(),
            names: Vec::new(),
            waiting: Vec::new(),
            habits: Vec::new(),
            restart: false,
            restarts: 0,
            model: PhantomData,
        }
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("there is a graph while there is something to explore")
    }

    fn graph(&self) -> &Graph {
        &self.frames.last().expect("there is a graph while there is something to explore").graph
    }

    /// Explores everything.
    pub fn run(&mut self) -> Result<(), Over> {
        loop {
            // VISIT, lines 4 to 26; what does not go on returns.
            while self.extend()? == Go::On {}
            if self.restart {
                self.start_again();
            } else if !self.next_todo()? {
                return Ok(());
            }
        }
    }

    /// Starts from the empty graph again.
    fn start_again(&mut self) {
        self.restart = false;
        self.restarts += 1;
        self.session.restart();
        self.spare.extend(self.frames.drain(..));
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.graph.clear();
        frame.todo.clear();
        self.runner.switch(&frame.graph);
        self.frames.push(frame);
    }

    /// Takes entries from the lists until one leads to a graph that goes on. False if there is none.
    fn next_todo(&mut self) -> Result<bool, Over> {
        while let Some(frame) = self.frames.last_mut() {
            let go = match frame.todo.pop() {
                Some(Todo::Source { read, write }) => self.read_from(read, write)?,
                Some(Todo::Place { write, position }) => self.place(write, position)?,
                Some(Todo::Choice { event, choice }) => self.choose(event, choice),
                Some(Todo::Back { write, read }) => self.revisit(write, read)?,
                Some(Todo::Speculate { read, write, other }) => self.speculate(read, write, other)?,
                None => {
                    let frame = self.frames.pop().expect("there is a frame");
                    self.spare.push(frame);
                    if let Some(frame) = self.frames.last() {
                        self.runner.switch(&frame.graph);
                    }
                    Go::Back
                }
            };
            if go == Go::On || self.restart {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the next event (lines 5 and 6), if there is one.
    fn extend(&mut self) -> Result<Go, Over> {
        if self.restart {
            return Ok(Go::Back);
        }
        let depth = self.graph().len();
        self.session.tick(|result| Progress {
            complete: result.complete,
            blocked: result.blocked,
            depth,
            fraction: 0.0,
        })?;
        self.catch_up()?;
        let Some(thread) = self.next_thread()? else {
            self.conclude()?;
            return Ok(Go::Back);
        };
        if self.graph().len() >= self.options.limits.max_events {
            self.session.too_long(&self.runner.machine, thread)?;
        }
        let op = *self.runner.machine.pending(thread);
        match op {
            Op::Access(access) => self.access(thread, &access),
            other => self.synchronise(thread, &other),
        }
    }

    /// Brings the machine to where the graph is, and notes it if a thread stops there.
    fn catch_up(&mut self) -> Result<(), Over> {
        let graph = &self.frames.last().expect("there is a graph").graph;
        match self.runner.bring(graph) {
            Ok(()) => Ok(()),
            Err(stop) => self.stopped(stop),
        }
    }

    fn stopped(&mut self, stop: Stop) -> Result<(), Over> {
        let graph = &self.frames.last().expect("there is a graph").graph;
        let machine = &self.runner.machine;
        self.session.stopped(stop, || ending::schedule(machine, graph, None))
    }

    /// `next_P`: the first thread, in the order of their numbers, that can add an event. A read-modify-write whose read
    /// has been added comes first of all.
    fn next_thread(&mut self) -> Result<Option<ThreadId>, Over> {
        if let Some(thread) = self.speculating() {
            return Ok(Some(thread));
        }
        let graph = &self.frames.last().expect("there is a graph").graph;
        let machine = &self.runner.machine;
        let mut first = None;
        let mut parked = None;
        for thread in (0..machine.thread_limit()).map(ThreadId::new) {
            if machine.status(thread) != Status::Ready {
                continue;
            }
            if let Some(last) = graph.last(thread) {
                if graph.awaits_write(last) {
                    return Ok(Some(thread));
                }
                if graph.event(last).blocked {
                    continue;
                }
            }
            if first.is_none() && self.can_go(thread) {
                if self.is_parked(thread) {
                    parked = parked.or(Some(thread));
                } else {
                    first = Some(thread);
                }
            }
        }
        Ok(first.or(parked))
    }

    /// Whether a thread is about to make a read-modify-write whose condition does not hold for the coherence-last
    /// value. It waits outside the graph until something is written, and comes in last of all if nothing is: two such
    /// reads in a graph could not both be read again in place when they are let go.
    fn is_parked(&self, thread: ThreadId) -> bool {
        let Op::Access(access) = self.runner.machine.pending(thread) else { return false };
        if access.until.is_none() || matches!(access.kind, AccessKind::Load) {
            return false;
        }
        let known = self.locations.get(&access.addr).copied().filter(|&loc| self.graph().knows(loc));
        let value = match known {
            Some(loc) if !self.in_place(loc) => return false,
            Some(loc) => {
                let graph = self.graph();
                graph.written(loc, graph.location(loc).write_at(graph.newest(loc)))
            }
            None if !self.options.reductions.in_place => return false,
            None => match self.runner.machine.memory().load(thread, access.addr, access.size, access.raw) {
                Ok(value) => value,
                // That is found out when it comes to the access.
                Err(_) => return false,
            },
        };
        Flags::of(access, value).blocked
    }

    /// Whether reads of a location are read again in place.
    fn in_place(&self, loc: LocId) -> bool {
        self.options.reductions.in_place && self.habits[loc.index()].in_place()
    }

    /// Notes what the program does with a location. What was explored in the belief that it does not counts no longer.
    fn note(&mut self, loc: LocId, change: impl FnOnce(&mut Habits)) {
        let before = (self.in_place(loc), self.speculates(loc));
        change(&mut self.habits[loc.index()]);
        self.restart |= before != (self.in_place(loc), self.speculates(loc));
    }

    fn can_go(&self, thread: ThreadId) -> bool {
        match self.runner.machine.pending(thread) {
            Op::Join { thread: other } => self.runner.machine.status(*other) == Status::Finished,
            _ => true,
        }
    }

    /// Adds an event that is not an access.
    fn synchronise(&mut self, thread: ThreadId, op: &Op) -> Result<Go, Over> {
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        let mut event = match op {
            Op::Fence { order } => Event { order: *order, ..graph.draft(thread, Kind::Fence) },
            Op::Spawn { child } => Event { value: child.index() as u64, ..graph.draft(thread, Kind::Spawn) },
            Op::Join { thread: other } => Event { value: other.index() as u64, ..graph.draft(thread, Kind::Join) },
            Op::Choose { .. } => graph.draft(thread, Kind::Choose),
            Op::Free { addr, .. } => return self.free(thread, *addr),
            other => return self.unsupported(thread, other),
        };
        if let Op::Fence { order } = op {
            event.order = *order;
        }
        let e = graph.add(event);
        graph.executed.push(e);
        if let Op::Choose { alternatives } = op {
            let others = (1..u64::from(*alternatives)).rev().map(|choice| Todo::Choice { event: e, choice });
            self.frame().todo.extend(others);
        }
        Ok(Go::On)
    }

    fn choose(&mut self, event: EventId, choice: u64) -> Go {
        self.cut_behind(event);
        let frame = self.frame();
        frame.graph.set_choice(event, choice);
        frame.graph.executed.push(event);
        Go::On
    }

    fn unsupported(&mut self, thread: ThreadId, op: &Op) -> Result<Go, Over> {
        let what = match op {
            Op::AtomicBegin | Op::AtomicEnd => "an atomic section",
            _ => "a condition variable",
        };
        let feature = format!("{what} under the graph engine; `--engine trace` can run it under sequential consistency");
        let place = self.runner.machine.site(thread).span;
        self.stopped(Stop::Unsupported(Box::new(Unsupported { feature, place })))?;
        Ok(Go::Back)
    }

    /// The thread's Op is a violation: it does not go on.
    fn halt(&mut self, thread: ThreadId, stop: Stop) -> Result<Go, Over> {
        let graph = &mut self.frame().graph;
        let halt = graph.draft(thread, Kind::Halt);
        let e = graph.add(halt);
        graph.executed.push(e);
        self.stopped(stop)?;
        Ok(Go::On)
    }

    /// Ends the life of an object: whatever accessed it must happen before that.
    fn free(&mut self, thread: ThreadId, addr: Addr) -> Result<Go, Over> {
        let memory = self.runner.machine.memory();
        let alive = memory.find(addr).filter(|&id| memory.object(id).alive);
        let Some(id) = alive else {
            let stop = self.runner.machine.free_fault(thread, addr);
            return self.halt(thread, stop);
        };
        let object = memory.object(id);
        let (base, size) = (object.base.0, object.size);
        let within = |(place, _): (Addr, u8)| place.0 >= base && place.0 < base + size;
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        let event = graph.draft(thread, Kind::Free);
        let e = graph.add(Event { value: addr.0, ..event });
        let places = &self.runner.places;
        let unordered = graph.ids().find(|&x| {
            let event = graph.event(x);
            event.is_access() && within(places[event.loc.index()]) && !graph.hb(x, e)
        });
        if let Some(other) = unordered {
            let stop = ending::race_with_free(&mut self.runner, graph, other, e);
            self.cut_behind(e);
            let len = e.index();
            self.frame().graph.cut(len);
            return self.halt(thread, stop);
        }
        graph.executed.push(e);
        Ok(Go::On)
    }

    /// Goes back to the moment when an event was added: it is the newest one and not executed yet.
    fn cut_behind(&mut self, e: EventId) {
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        graph.cut(e.index() + 1);
        graph.back_to_newest();
        self.runner.forget_from(graph.executed.len());
    }

    /// The location that an access is to.
    fn location(&mut self, thread: ThreadId, access: &Access) -> Result<LocId, Stop> {
        if let Some(&loc) = self.locations.get(&access.addr) {
            if self.runner.place(loc).1 == access.size {
                return Ok(loc);
            }
            return Err(self.mixed(thread));
        }
        let near = (access.addr.0.saturating_sub(7)..access.addr.0 + u64::from(access.size)).map(Addr);
        let overlaps = |addr: Addr| {
            let loc = self.locations.get(&addr);
            loc.is_some_and(|&loc| addr.0 + u64::from(self.runner.place(loc).1) > access.addr.0)
        };
        if near.into_iter().any(overlaps) {
            return Err(self.mixed(thread));
        }
        let loc = LocId::new(self.runner.places.len());
        self.runner.places.push((access.addr, access.size));
        self.habits.push(Habits::default());
        self.locations.insert(access.addr, loc);
        Ok(loc)
    }

    fn mixed(&self, thread: ThreadId) -> Stop {
        let site = self.runner.machine.site(thread);
        let object = if site.object.is_empty() { "the same memory".to_owned() } else { site.object };
        let feature = format!(
            "accesses of different sizes to {object} under the graph engine; \
             `--engine trace` can run them under sequential consistency"
        );
        Stop::Unsupported(Box::new(Unsupported { feature, place: site.span }))
    }

    /// Adds an access (lines 11 to 24).
    fn access(&mut self, thread: ThreadId, access: &Access) -> Result<Go, Over> {
        if let Some(last) = self.graph().last(thread)
            && self.graph().awaits_write(last)
        {
            return self.write(thread, access, Some(last));
        }
        if let Err(fault) = self.check(thread, access) {
            let stop = self.runner.machine.fault(thread, access, fault);
            return self.halt(thread, stop);
        }
        let loc = match self.location(thread, access) {
            Ok(loc) => loc,
            Err(stop) => return self.stopped(stop).map(|()| Go::Back),
        };
        let memory = self.runner.machine.memory();
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        graph.touch(loc, || {
            let uninitialised = memory.load(thread, access.addr, access.size, false).is_err();
            (memory.load(thread, access.addr, access.size, true).unwrap_or(0), uninitialised)
        });
        if access.reads() { self.read(thread, access, loc) } else { self.write(thread, access, None) }
    }

    fn check(&self, thread: ThreadId, access: &Access) -> Result<(), Fault> {
        let memory = self.runner.machine.memory();
        let id = memory.check(thread, access.addr, u64::from(access.size))?;
        let writes = !matches!(access.kind, AccessKind::Load);
        if writes && memory.object(id).kind == ObjectKind::Constant { Err(Fault::Constant(id)) } else { Ok(()) }
    }

    /// Adds a read (line 14).
    fn read(&mut self, thread: ThreadId, access: &Access, loc: LocId) -> Result<Go, Over> {
        let only = self.confirmed_source(thread, access, loc);
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        let newest = graph.newest(loc);
        let rf = graph.location(loc).write_at(newest);
        let draft = graph.draft(thread, Kind::Read);
        let locked = !matches!(access.kind, AccessKind::Load);
        let order = access.order;
        let e = graph.add(Event { loc, rf, base: rf, locked, order, confirms: access.confirms, ..draft });
        if access.until.is_some() {
            self.note(loc, |habits| habits.awaited = true);
        }
        if access.speculative.is_some() {
            self.note(loc, |habits| habits.speculative = true);
        }
        let lowest = self.lower_bound(e);
        for position in lowest..=newest {
            let graph = self.graph();
            let write = graph.location(loc).write_at(position);
            if only.is_some_and(|only| write != only) {
                continue;
            }
            let error = write == INIT && graph.location(loc).uninitialised && !access.raw;
            let fails = || !error && Flags::of(access, graph.written(loc, write)).blocked;
            // Section 3.1: a read that is not maximal cannot be revisited, so it waits forever.
            if position < newest && self.options.reductions.stale && access.until.is_some() && fails() {
                continue;
            }
            if let Some(other) = self.rival(e, access, write) {
                self.plan_speculation(e, access, write, other);
                continue;
            }
            if position == newest {
                return self.set_source(e, access, write);
            }
            self.frame().todo.push(Todo::Source { read: e, write });
        }
        Ok(Go::Back)
    }

    /// A read reads from another write than the coherence-last one (line 15).
    fn read_from(&mut self, read: EventId, write: EventId) -> Result<Go, Over> {
        self.cut_behind(read);
        self.catch_up()?;
        let access = self.pending_access(read);
        self.reads_from(read, &access, write);
        let graph = &self.frames.last().expect("there is a graph").graph;
        if !Mo::consistent(graph, &mut self.scratch) {
            return Ok(Go::Back);
        }
        self.has_read(read, &access)
    }

    fn set_source(&mut self, read: EventId, access: &Access, write: EventId) -> Result<Go, Over> {
        self.reads_from(read, access, write);
        self.has_read(read, access)
    }

    /// Makes a read read from a write.
    fn reads_from(&mut self, read: EventId, access: &Access, write: EventId) {
        self.frame().graph.set_rf(read, write);
        self.value_has_changed(read, access);
    }

    /// What the value that a read has got makes of it.
    fn value_has_changed(&mut self, read: EventId, access: &Access) -> Flags {
        let Event { loc, thread, value, .. } = *self.graph().event(read);
        let speculative =
            access.speculative.is_some() && self.speculates(loc) && self.is_speculative(thread, access, value);
        let flags = Flags::of(access, value);
        let graph = &mut self.frame().graph;
        graph.set_flags(read, flags.exclusive, flags.blocked, flags.order);
        graph.set_speculative(read, speculative);
        flags
    }

    /// What follows from what a read reads.
    fn has_read(&mut self, e: EventId, access: &Access) -> Result<Go, Over> {
        self.check_race(e)?;
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        let event = *graph.event(e);
        if event.rf == INIT && graph.location(event.loc).uninitialised && !access.raw {
            graph.set_flags(e, event.exclusive, false, event.order);
            let id = self.runner.machine.memory().find(access.addr).expect("the access was checked");
            let stop = self.runner.machine.fault(event.thread, access, Fault::Uninitialised(id));
            return self.halt(event.thread, stop);
        }
        if !event.exclusive && !event.blocked {
            graph.executed.push(e);
        }
        Ok(Go::On)
    }

    /// Adds a write (line 20). An exclusive one stands directly behind what its read reads from.
    fn write(&mut self, thread: ThreadId, access: &Access, read: Option<EventId>) -> Result<Go, Over> {
        let loc = match read {
            Some(read) => self.graph().event(read).loc,
            None => self.locations[&access.addr],
        };
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        let draft = graph.draft(thread, Kind::Write);
        let old = read.map_or(0, |read| graph.event(read).value);
        let value = access.written(old).expect("the access writes");
        let value = selvedge_machine::truncate(value, access.size);
        let source = read.map(|read| graph.position(read));
        let newest = graph.newest(loc);
        let exclusive = read.is_some();
        let e = graph.add(Event { loc, value, exclusive, locked: exclusive, order: access.order, ..draft });
        let mut limit = None;
        if newest > 0 && !graph.porf(graph.location(loc).write_at(newest), e) {
            // Not so if two read-modify-writes read the same, but then the graph does not go on.
            let conflict = source.is_some_and(|source| graph.successor_rmw(loc, source).is_some());
            if !conflict {
                self.note(loc, |habits| habits.unordered = true);
            }
        }
        self.check_regularity(e);
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        match source {
            Some(source) if source == newest => {}
            Some(source) => {
                limit = graph.successor_rmw(loc, source).map(|other| graph.event(other).pred);
                if limit.is_none() {
                    graph.place(e, source + 1);
                }
            }
            None => self.places(e, newest),
        }
        let in_place = self.in_place(loc);
        let frame = self.frames.last_mut().expect("there is a graph");
        let (graph, todo) = (&frame.graph, &mut frame.todo);
        backward::revisits(graph, e, limit, in_place, |read| todo.push(Todo::Back { write: e, read }));
        if limit.is_some() {
            // Two read-modify-writes of one value: only a revisit of the other one makes sense.
            return Ok(Go::Back);
        }
        self.written(e)
    }

    fn lower_bound(&mut self, e: EventId) -> u32 {
        let graph = &self.frames.last().expect("there is a graph").graph;
        Mo::lower_bound(graph, e, &mut self.scratch)
    }

    /// Notes the other places at which a plain write could stand.
    fn places(&mut self, e: EventId, newest: u32) {
        let lowest = self.lower_bound(e);
        let loc = self.graph().event(e).loc;
        for position in lowest + 1..=newest {
            let graph = self.graph();
            let pushed_back = graph.location(loc).write_at(position);
            if !graph.event(pushed_back).exclusive {
                self.frame().todo.push(Todo::Place { write: e, position });
            }
        }
    }

    /// What follows from a write that has found its place.
    fn written(&mut self, e: EventId) -> Result<Go, Over> {
        self.check_race(e)?;
        self.frame().graph.executed.push(e);
        let loc = self.graph().event(e).loc;
        if self.in_place(loc) { self.read_again(e, loc) } else { Ok(Go::On) }
    }

    /// In-place revisits (line 22): reads that wait read from the new write.
    fn read_again(&mut self, write: EventId, loc: LocId) -> Result<Go, Over> {
        let blocked = |&r: &EventId| self.graph().event(r).blocked && self.graph().event(r).rf != write;
        let waiting: SmallVec<[EventId; 8]> = self.graph().location(loc).reads.iter().copied().filter(blocked).collect();
        if waiting.is_empty() || self.graph().event(write).co < self.graph().newest(loc) {
            return Ok(Go::On);
        }
        self.catch_up()?;
        let mut taken = false;
        for r in waiting {
            let access = self.pending_access(r);
            let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
            graph.reread(r, write);
            let flags = self.value_has_changed(r, &access);
            if flags.exclusive && !flags.blocked {
                if taken {
                    // Two read-modify-writes cannot both read from it: which one does would have to be explored.
                    self.note(loc, |habits| (habits.awaited, habits.unordered) = (true, true));
                }
                taken = true;
            }
            self.has_read(r, &access)?;
        }
        Ok(Go::On)
    }

    /// The access that a read whose thread stands there belongs to.
    fn pending_access(&self, read: EventId) -> Access {
        match self.runner.machine.pending(self.graph().event(read).thread) {
            Op::Access(access) => *access,
            _ => unreachable!("a read belongs to an access"),
        }
    }

    /// A write stands elsewhere in coherence order, in a graph that was just made by a revisit or in an older one.
    fn place(&mut self, write: EventId, position: u32) -> Result<Go, Over> {
        self.cut_behind(write);
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        graph.place(write, position);
        let loc = graph.event(write).loc;
        let revisited = graph.location(loc).reads.iter().copied().find(|&r| graph.event(r).rf == write);
        if let Some(read) = revisited
            && Mo::lower_bound(graph, read, &mut self.scratch) > position
        {
            return Ok(Go::Back);
        }
        if (position < graph.newest(loc) || revisited.is_some()) && !Mo::consistent(graph, &mut self.scratch) {
            return Ok(Go::Back);
        }
        if let Some(read) = revisited
            && self.in_place(loc)
            && self.graph().event(read).blocked
            && position < self.graph().newest(loc)
        {
            // Line 4: it waits, and will not be read again.
            return Ok(Go::Back);
        }
        let go = self.written(write)?;
        let Some(read) = revisited else { return Ok(go) };
        self.catch_up()?;
        let access = self.pending_access(read);
        self.has_read(read, &access)
    }

    /// Makes a graph of what a revisit of a read by another event keeps, with the names that both have there.
    fn make_frame(&mut self, read: EventId, write: EventId) -> Result<(EventId, EventId), Over> {
        let mut new = self.spare.pop().unwrap_or_default();
        new.todo.clear();
        let graph = &self.frames.last().expect("there is a graph").graph;
        let keep = |e: EventId| e <= read || graph.porf(e, write);
        graph.restrict(&mut new.graph, keep, (read, write), &mut self.names, &mut self.waiting);
        let (read, write) = (self.names[read.index()], self.names[write.index()]);
        self.runner.switch(&new.graph);
        self.frames.push(new);
        self.catch_up()?;
        for n in 0..self.waiting.len() {
            let waiting = self.waiting[n];
            if self.graph().event(waiting).rf != BOTTOM {
                let flags = self.value_has_changed(waiting, &self.pending_access(waiting));
                debug_assert!(flags.blocked, "a read that was read again in place has waited before");
            }
        }
        Ok((read, write))
    }

    /// A write revisits a read (Algorithm 2, line 5): a graph of its own.
    fn revisit(&mut self, write: EventId, read: EventId) -> Result<Go, Over> {
        self.cut_behind(write);
        let (read, write) = self.make_frame(read, write)?;
        let access = self.pending_access(read);
        self.reads_from(read, &access, write);
        let graph = &mut self.frames.last_mut().expect("there is a graph").graph;
        let loc = graph.event(read).loc;
        let newest = graph.newest(loc);
        let w = *graph.event(write);
        if w.exclusive {
            let source = graph.position(w.pred);
            graph.place(write, newest);
            let conflict = graph.successor_rmw(loc, source).is_some_and(|other| other != write);
            if !conflict {
                self.frame().todo.push(Todo::Place { write, position: source + 1 });
            }
        } else {
            graph.place(write, newest);
            self.frame().todo.push(Todo::Place { write, position: newest });
            self.places(write, newest - 1);
        }
        Ok(Go::Back)
    }

    fn check_race(&mut self, e: EventId) -> Result<(), Over> {
        if !self.options.limits.data_races {
            return Ok(());
        }
        let graph = &self.frames.last().expect("there is a graph").graph;
        let Some(other) = race::race_of(graph, e) else { return Ok(()) };
        let stop = ending::race(&mut self.runner, graph, other, e);
        let machine = &self.runner.machine;
        self.session.stopped(stop, || ending::schedule(machine, graph, Some(e)))
    }

    /// The graph is full (line 7).
    fn conclude(&mut self) -> Result<(), Over> {
        let graph = &self.frames.last().expect("there is a graph").graph;
        let ended = ending::conclude(&mut self.runner, graph, self.session)?;
        if let Some(full) = &mut self.full {
            full(&Full { graph, places: &self.runner.places, ending: ended, restarts: self.restarts });
        }
        self.session.ended(ended, graph.len())
    }
}

/// What the value that an access reads makes of it.
struct Flags {
    exclusive: bool,
    blocked: bool,
    order: Order,
}

impl Flags {
    fn of(access: &Access, value: u64) -> Flags {
        let blocked = access.until.is_some_and(|until| !until.holds(value, access.size));
        let writes = access.written(value).is_some();
        let order = match access.kind {
            AccessKind::Cas { failure, .. } if !writes => failure,
            _ => access.order,
        };
        Flags { exclusive: writes, blocked, order }
    }
}

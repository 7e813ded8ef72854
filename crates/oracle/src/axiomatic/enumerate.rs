//! All consistent execution graphs of a program, event by event.
//!
//! A graph is built from nothing by adding the next event of some thread. A read chooses among all writes that are in
//! the graph, a write among all places in coherence order, and what a model does not allow is dropped. A graph that was
//! come to before in another order is not continued again. This reaches every consistent graph:
//!
//! - in all models `po ∪ rf` is acyclic, so the events of a graph can be added in an order in which each read comes after
//!   the write that it reads from;
//! - in all models what remains of a consistent graph when events are removed that no other event reads from or comes
//!   after in program order is consistent, since the relations only become smaller; so no graph on the way is dropped.
//!
//! Any such order leads there. Therefore, if the next event of some thread is not a read, it is enough to add that one
//! now, in all ways: it is in every graph that extends the present one and in which all threads go on as far as they can,
//! and it need not come after anything that is not there yet.
//!
//! Every model must be able to go on from every graph (a read from the latest write and a write at the end of coherence
//! order are always allowed); the search panics if not.

use super::ending::{Ending, Finish, Outcome};
use super::execution::Execution;
use super::graph::{Event, Graph, Kind, Source};
use super::key::GraphKey;
use super::models::Model;
use super::relation::MAX_EVENTS;
use crate::litmus::{Inst, Place, Program};
use crate::machine::LitmusMachine;
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Access, AccessKind, Addr, Fault, Machine, Op, Status, Stop, ThreadId, ViolationKind, truncate};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// How large a program may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// At most so many graphs may be visited, the unfinished ones included.
    pub graphs: usize,
    /// At most so many events may be in a graph, an initial write per location included; [`MAX_EVENTS`] in any case.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { graphs: 100_000, events: MAX_EVENTS }
    }
}

/// Why a program was not enumerated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TooLarge {
    /// There are more graphs than [`Limits::graphs`].
    Graphs,
    /// There is a graph with more events than [`Limits::events`].
    Events,
    /// The program does something that the models give no meaning to.
    Unsupported(String),
}

/// Which blocked graphs count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocking {
    /// All: an access that waits may read any value that its condition refuses, and then that is a graph of its own.
    Plain,
    /// Those in which every access that waits in vain reads from the latest write: nobody would ever let it go on.
    Useful,
}

/// All maximal consistent graphs of a program: those in which no thread can go on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// The graphs, and how they end.
    pub graphs: BTreeMap<GraphKey, Ending>,
    /// How many graphs were visited, the unfinished ones included.
    pub visited: usize,
}

impl Summary {
    /// The graphs in which all threads end (or a violation cuts them short).
    pub fn complete(&self) -> impl Iterator<Item = (&GraphKey, &Ending)> {
        self.graphs.iter().filter(|(_, ending)| ending.finish == Finish::Complete)
    }

    /// The graphs in which some thread is stuck.
    pub fn blocked(&self, blocking: Blocking) -> impl Iterator<Item = (&GraphKey, &Ending)> {
        self.graphs.iter().filter(move |(_, ending)| match ending.finish {
            Finish::Complete => false,
            Finish::Blocked { stale } => blocking == Blocking::Plain || !stale,
        })
    }

    /// What the threads and memory look like in the end, in complete graphs.
    pub fn outcomes(&self) -> BTreeSet<&Outcome> {
        self.complete().map(|(_, ending)| &ending.outcome).collect()
    }

    /// Everything that goes wrong in some graph.
    pub fn errors(&self) -> BTreeSet<(ViolationKind, String)> {
        self.graphs.values().flat_map(|ending| ending.errors.iter().cloned()).collect()
    }

    /// The kinds of everything that goes wrong in some graph.
    pub fn error_kinds(&self) -> BTreeSet<ViolationKind> {
        self.errors().into_iter().map(|(kind, _)| kind).collect()
    }
}

/// Enumerates all maximal consistent graphs of a valid program.
pub fn enumerate(program: &Program, model: Model, limits: Limits) -> Result<Summary, TooLarge> {
    enumerate_with(program, &|execution| model.allows(execution), limits)
}

/// Enumerates all maximal graphs that are consistent by another definition.
pub fn enumerate_with(
    program: &Program,
    consistent: &dyn Fn(&Execution) -> bool,
    limits: Limits,
) -> Result<Summary, TooLarge> {
    if let Some(what) = unsupported(program) {
        return Err(TooLarge::Unsupported(what.to_owned()));
    }
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let mut search = Search {
        locations: locations(program, &machine),
        graph: Graph::new(program.threads.len()),
        machine,
        consistent,
        limits,
        stops: Vec::new(),
        seen: HashSet::new(),
        found: Summary::default(),
    };
    let started = search.machine.start();
    search.note(started)?;
    search.explore()?;
    search.found.visited = search.seen.len();
    Ok(search.found)
}

/// What in a program has no meaning in the models.
fn unsupported(program: &Program) -> Option<&'static str> {
    let insts = || program.threads.iter().flatten();
    let places: Vec<Place> = insts().filter_map(Inst::place).collect();
    let partly = |a: &Place, b: &Place| {
        let disjoint = a.var != b.var || a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
        a != b && !disjoint
    };
    if places.iter().any(|a| places.iter().any(|b| partly(a, b))) {
        return Some("accesses that overlap in part");
    }
    insts().find_map(|inst| match inst {
        Inst::Wait(_) | Inst::Wake { .. } | Inst::Signal(_) | Inst::Broadcast(_) => Some("condition variables"),
        Inst::Begin | Inst::End => Some("atomic sections"),
        _ => None,
    })
}

/// A location that the program accesses.
pub(super) struct Location {
    pub addr: Addr,
    pub place: Place,
    /// The initial value; none if reading it is an error.
    pub init: Option<u64>,
}

pub(super) fn locations(program: &Program, machine: &LitmusMachine) -> Vec<Location> {
    let places: BTreeMap<(usize, u8), Place> =
        program.threads.iter().flatten().filter_map(Inst::place).map(|p| ((p.var.index(), p.offset), p)).collect();
    let location = |place: Place| {
        let of_offset = |init: u64| init.checked_shr(8 * u32::from(place.offset)).unwrap_or(0);
        let init = program.vars[place.var.index()].init.map(|init| truncate(of_offset(init), place.size));
        Location { addr: machine.addr(place), place, init }
    };
    places.into_values().map(location).collect()
}

struct Search<'a> {
    machine: LitmusMachine,
    consistent: &'a dyn Fn(&Execution) -> bool,
    limits: Limits,
    locations: Vec<Location>,
    graph: Graph,
    /// Why threads do not go on: violations and bounds.
    stops: Vec<Stop>,
    seen: HashSet<Box<[u32]>>,
    found: Summary,
}

impl Search<'_> {
    /// Visits all graphs that extend the present one.
    fn explore(&mut self) -> Result<(), TooLarge> {
        if !self.seen.insert(self.graph.signature()) {
            return Ok(());
        }
        if self.seen.len() > self.limits.graphs {
            return Err(TooLarge::Graphs);
        }
        let able: Vec<ThreadId> = self.threads().filter(|&thread| self.can_go_on(thread)).collect();
        if able.is_empty() {
            return self.end();
        }
        let reads = |thread: &ThreadId| matches!(self.machine.pending(*thread), Op::Access(access) if access.reads());
        match able.iter().find(|&thread| !reads(thread)) {
            Some(&thread) => self.extend(thread),
            None => able.into_iter().try_for_each(|thread| self.extend(thread)),
        }
    }

    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.graph.threads.len()).map(ThreadId::new)
    }

    fn can_go_on(&self, thread: ThreadId) -> bool {
        let ready = self.machine.status(thread) == Status::Ready && self.graph.blocked(thread).is_none();
        ready
            && match self.machine.pending(thread) {
                Op::Join { thread: target } => self.machine.can_be_joined(*target),
                _ => true,
            }
    }

    /// Adds the next event of a thread in all ways.
    fn extend(&mut self, thread: ThreadId) -> Result<(), TooLarge> {
        let plain = |kind| Event { kind, order: Order::Plain };
        match *self.machine.pending(thread) {
            Op::Access(access) if access.reads() => self.read(thread, &access),
            Op::Access(access) => self.write(thread, &access),
            Op::Fence { order } => self.add(thread, Event { kind: Kind::Fence, order }, 0),
            Op::Spawn { child } => self.add(thread, plain(Kind::Spawn { child }), 0),
            Op::Join { thread: target } => self.add(thread, plain(Kind::Join { thread: target }), 0),
            Op::Free { addr, size } => self.add(thread, plain(Kind::Free { addr, size }), 0),
            Op::Choose { alternatives } => (0..u64::from(alternatives))
                .try_for_each(|value| self.add(thread, plain(Kind::Choice { value }), value)),
            other => unreachable!("{other:?}: such programs are refused"),
        }
    }

    /// Adds an event that is no access.
    fn add(&mut self, thread: ThreadId, event: Event, outcome: u64) -> Result<(), TooLarge> {
        self.graph.push(thread, event);
        let allowed = self.is_consistent()?;
        assert!(allowed, "{event:?} contradicts the model");
        self.go_on(thread, outcome)?;
        self.graph.pop(thread);
        Ok(())
    }

    /// Adds a write that does not read.
    fn write(&mut self, thread: ThreadId, access: &Access) -> Result<(), TooLarge> {
        let AccessKind::Store { value } = access.kind else { unreachable!("{access:?} reads") };
        let kind = Kind::Write { addr: access.addr, value: truncate(value, access.size), exclusive: false };
        let possible = self.place(thread, access.addr, Event { kind, order: access.order }, 0)?;
        assert!(possible, "{access:?} has no place in coherence order");
        Ok(())
    }

    /// Adds a write at all places in coherence order, and goes on with the thread; whether there is one.
    fn place(&mut self, thread: ThreadId, addr: Addr, event: Event, outcome: u64) -> Result<bool, TooLarge> {
        let mut possible = false;
        for place in 0..=self.graph.writes(addr).len() {
            self.graph.push_write(thread, addr, event, place);
            if self.is_consistent()? {
                possible = true;
                self.go_on(thread, outcome)?;
            }
            self.graph.pop_write(thread, addr, place);
        }
        Ok(possible)
    }

    /// Adds an access that reads, from everywhere.
    fn read(&mut self, thread: ThreadId, access: &Access) -> Result<(), TooLarge> {
        let writes = self.graph.writes(access.addr).iter().map(|&at| Source::Write(at));
        let sources: Vec<Source> = std::iter::once(Source::Init).chain(writes).collect();
        let mut possible = false;
        for from in sources {
            possible |= match self.value(access.addr, from) {
                Some(value) => self.read_value(thread, access, from, value)?,
                None => self.read_uninitialised(thread, access)?,
            };
        }
        assert!(possible, "{access:?} can read from nowhere");
        Ok(())
    }

    fn value(&self, addr: Addr, from: Source) -> Option<u64> {
        match from {
            Source::Write(at) => Some(self.graph.written(at)),
            Source::Init => self.locations.iter().find(|location| location.addr == addr).and_then(|l| l.init),
        }
    }

    fn read_value(&mut self, thread: ThreadId, access: &Access, from: Source, value: u64) -> Result<bool, TooLarge> {
        let blocked = access.until.is_some_and(|until| !until.holds(value, access.size));
        let new = access.written(value);
        let read = read_event(access, from, value, new.is_some(), blocked);
        self.graph.push(thread, read);
        let mut possible = self.is_consistent()?;
        match new {
            _ if !possible => {}
            _ if blocked => self.explore()?,
            None => self.go_on(thread, value)?,
            Some(new) => {
                let kind = Kind::Write { addr: access.addr, value: truncate(new, access.size), exclusive: true };
                possible = self.place(thread, access.addr, Event { kind, order: read.order }, value)?;
            }
        }
        self.graph.pop(thread);
        Ok(possible)
    }

    /// Adds a read of bytes that were never written: the thread does not go on.
    fn read_uninitialised(&mut self, thread: ThreadId, access: &Access) -> Result<bool, TooLarge> {
        self.graph.push(thread, read_event(access, Source::Init, 0, false, false));
        let possible = self.is_consistent()?;
        if possible {
            let object = self.machine.memory().find(access.addr).expect("variables are objects");
            let stop = self.machine.fault(thread, access, Fault::Uninitialised(object));
            self.machine.mark();
            self.machine.halt(thread, Status::Stopped);
            self.stops.push(stop);
            self.explore()?;
            self.stops.pop();
            self.machine.undo();
        }
        self.graph.pop(thread);
        Ok(possible)
    }

    /// Tells a thread the outcome of its Op, and visits what comes then.
    fn go_on(&mut self, thread: ThreadId, outcome: u64) -> Result<(), TooLarge> {
        self.machine.mark();
        let stops = self.stops.len();
        let result = self.machine.resume(thread, outcome);
        self.note(result)?;
        self.explore()?;
        self.stops.truncate(stops);
        self.machine.undo();
        Ok(())
    }

    fn note(&mut self, result: Result<(), Stop>) -> Result<(), TooLarge> {
        match result {
            Ok(()) => {}
            Err(Stop::Unsupported(what)) => return Err(TooLarge::Unsupported(what.feature)),
            Err(stop) => self.stops.push(stop),
        }
        Ok(())
    }

    fn is_consistent(&self) -> Result<bool, TooLarge> {
        let addrs: Vec<Addr> = self.addrs();
        if Execution::size(&self.graph, &addrs) > self.limits.events.min(MAX_EVENTS) {
            return Err(TooLarge::Events);
        }
        Ok((self.consistent)(&Execution::new(&self.graph, &addrs)))
    }

    fn addrs(&self) -> Vec<Addr> {
        self.locations.iter().map(|location| location.addr).collect()
    }

    /// Notes a maximal graph.
    fn end(&mut self) -> Result<(), TooLarge> {
        let execution = Execution::new(&self.graph, &self.addrs());
        let ending = Ending::new(&self.machine, &self.graph, &execution, &self.locations, &self.stops);
        let before = self.found.graphs.insert(GraphKey::of(&self.graph), ending);
        assert!(before.is_none(), "no graph is visited twice");
        Ok(())
    }
}

/// The read of an access. An access whose comparison fails has the order of failure.
pub(super) fn read_event(access: &Access, from: Source, value: u64, succeeds: bool, blocked: bool) -> Event {
    let order = match access.kind {
        AccessKind::Cas { failure, .. } if !succeeds => failure,
        _ => access.order,
    };
    let locked = !matches!(access.kind, AccessKind::Load);
    Event { kind: Kind::Read { addr: access.addr, value, from, locked, blocked }, order }
}

//! Keeps a machine where the threads of a graph are.
//!
//! A machine goes forwards and backwards along one line of steps. A graph says which events have to be executed, in an
//! order in which writes come before their readers ([`Graph::executed`]). Going from one graph to another takes back the
//! steps that differ and makes the others: the cost is the suffix that changed.
//!
//! Stores are carried out in the machine's memory too, if the machine wants them there. Values that threads read come from
//! the graph, never from there; but bounds, lifetimes, what is published by a pointer that was stored, and initial values do.

use crate::event::{EventId, Kind, LocId};
use crate::graph::Graph;
use crate::request::{self, Role};
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, Machine, Outcome, Status, Stop, ThreadId};

/// One step of the machine. Two graphs agree as long as their steps do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    thread: ThreadId,
    kind: Kind,
    outcome: Outcome,
}

/// A machine and the steps that it has made.
pub struct Runner<M> {
    /// The machine.
    pub machine: M,
    /// Address and size of every location.
    pub places: Vec<(Addr, u8)>,
    made: Vec<Step>,
    /// The steps in which a thread met a bound.
    bounded: Vec<usize>,
    /// The first steps that are known to be those of the present graph.
    agreed: usize,
    /// Violations of steps that were made before the newest one, when several were made at once. Most have been noted before.
    earlier: Vec<Stop>,
}

impl<M: Machine> Runner<M> {
    /// A machine that has been started, and lists that are used again.
    pub(crate) fn new_in(machine: M, made: Vec<Step>, places: Vec<(Addr, u8)>) -> Runner<M> {
        debug_assert!(made.is_empty() && places.is_empty(), "nothing is left in lists that are used again");
        Runner { machine, places, made, bounded: Vec::new(), agreed: 0, earlier: Vec::new() }
    }

    /// The end: the lists, for the next one.
    pub(crate) fn into_storage(self) -> (Vec<Step>, Vec<(Addr, u8)>) {
        let Runner { mut made, mut places, .. } = self;
        made.clear();
        places.clear();
        (made, places)
    }

    /// Address and size of a location.
    pub fn place(&self, loc: LocId) -> (Addr, u8) {
        self.places[loc.index()]
    }

    /// Another graph is the present one now.
    pub fn switch(&mut self, graph: &Graph) {
        let executed = graph.executed.iter().zip(&self.made);
        self.agreed = executed.take_while(|&(&e, &made)| self.step(graph, e) == made).count();
    }

    /// A graph is the present one now that has this many of its first executed events in common with the one that was.
    #[inline]
    pub fn switch_to_part(&mut self, graph: &Graph, common: usize) {
        self.agreed = self.agreed.min(common);
        let same = |(&e, &made): (&EventId, &Step)| self.step(graph, e) == made;
        debug_assert!(graph.executed.iter().zip(&self.made).take(self.agreed).all(same), "they have been made");
    }

    /// Events of the present graph from this place of its list on are no longer what they were.
    #[inline]
    pub fn forget_from(&mut self, executed: usize) {
        self.agreed = self.agreed.min(executed);
    }

    /// Brings the machine to where the graph's threads are. If a thread stopped in the newest step, says why.
    pub fn bring(&mut self, graph: &Graph) -> Result<(), Stop> {
        self.unmake(self.agreed);
        let result = match graph.executed.get(self.made.len()..) {
            // Most often there is one.
            Some(&[e]) => self.make(graph, e),
            _ => self.make_all(graph),
        };
        self.agreed = self.made.len();
        result
    }

    /// Makes all steps that are left. Of what stops threads in those before the newest, only violations are kept, as these are noted
    /// once, however often they are told: that a bound was met, and what is not supported, was noted when it was new.
    #[inline(never)]
    fn make_all(&mut self, graph: &Graph) -> Result<(), Stop> {
        let mut newest = Ok(());
        while self.made.len() < graph.executed.len() {
            if let Err(stop @ Stop::Violation(_)) = newest {
                self.earlier.push(stop);
            }
            newest = self.make(graph, graph.executed[self.made.len()]);
        }
        newest
    }

    /// Whether there are violations in steps before the newest one.
    #[inline]
    pub fn has_earlier(&self) -> bool {
        !self.earlier.is_empty()
    }

    /// The violations in steps before the newest one, once.
    pub fn take_earlier(&mut self) -> Vec<Stop> {
        std::mem::take(&mut self.earlier)
    }

    /// Brings the machine to where a thread is about to do what an event does.
    pub fn bring_before(&mut self, graph: &Graph, e: EventId) {
        let e = graph.newest_part(e);
        let same = |&x: &EventId| x == e || graph.write_of(e) == Some(x);
        let at = graph.executed.iter().position(same).unwrap_or(graph.executed.len());
        self.unmake(self.agreed.min(at));
        while self.made.len() < at {
            // Why a thread stopped was noted when it did so for the first time.
            let _ = self.make(graph, graph.executed[self.made.len()]);
        }
        self.agreed = self.made.len();
    }

    #[inline(always)]
    fn make(&mut self, graph: &Graph, e: EventId) -> Result<(), Stop> {
        let step = self.step(graph, e);
        self.made.push(step);
        self.machine.mark();
        let event = graph.event(e);
        match event.kind {
            Kind::Halt => {
                self.machine.halt(step.thread, Status::Stopped);
                return Ok(());
            }
            Kind::Write if event.role == Role::Memory && self.machine.wants_stores() => {
                let ((addr, size), value) = self.whole(graph, e);
                // That the object lives was seen when the event was added.
                let _ = self.machine.memory_mut().store(step.thread, addr, size, value);
            }
            Kind::Free => {
                let memory = self.machine.memory_mut();
                let object = memory.find(Addr(event.value)).filter(|&id| memory.object(id).alive);
                object.into_iter().for_each(|id| memory.kill(id));
            }
            _ => {}
        }
        self.machine.memory_mut().set_now(self.made.len() as u32);
        let is_access = matches!(event.kind, Kind::Read | Kind::Write) && event.role == Role::Memory;
        let addr = (is_access && event.part.is_none()).then(|| self.place(event.loc).0);
        if let Some(stop) = self.machine.elsewhere(step.thread, addr) {
            return Err(stop);
        }
        let result = self.machine.resume(step.thread, step.outcome);
        if let Err(Stop::Bound(_)) = result {
            self.bounded.push(self.made.len() - 1);
        }
        result
    }

    /// The bytes of an access, and what was read from or written to them.
    #[inline]
    fn whole(&self, graph: &Graph, e: EventId) -> ((Addr, u8), u64) {
        let event = graph.event(e);
        if event.part.is_none() {
            return (self.place(event.loc), event.value);
        }
        let parts = graph.parts_of(e);
        let first = self.place(graph.event(parts[0]).loc).0;
        let at = |part: EventId| self.place(graph.event(part).loc);
        let add = |value, &part: &EventId| value | graph.event(part).value << (8 * (at(part).0.0 - first.0));
        let size = parts.iter().map(|&part| at(part).1).sum();
        ((first, size), parts.iter().fold(0, add))
    }

    /// The step of an event.
    #[inline(always)]
    fn step(&self, graph: &Graph, e: EventId) -> Step {
        let event = graph.event(e);
        let outcome = match event.kind {
            Kind::Choose => event.value,
            Kind::Read => request::outcome(event.role, event.thread, self.whole(graph, e).1),
            Kind::Write if event.is_rmw_write() => {
                request::outcome(event.role, event.thread, graph.event(event.pred).value)
            }
            _ => 0,
        };
        Step { thread: event.thread, kind: event.kind, outcome }
    }

    #[inline]
    fn unmake(&mut self, to: usize) {
        if self.made.len() > to {
            self.take_back(to);
        }
    }

    #[inline(never)]
    fn take_back(&mut self, to: usize) {
        self.machine.undo_last(self.made.len() - to);
        self.made.truncate(to);
        while self.bounded.last().is_some_and(|&step| step >= to) {
            self.bounded.pop();
        }
    }

    /// Whether some thread has met a bound.
    pub fn met_bound(&self) -> bool {
        !self.bounded.is_empty()
    }
}

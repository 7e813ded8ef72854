//! Every interleaving of a small program, and the equivalence classes that they fall into.
//!
//! A depth-first search over all enabled threads and all alternatives, without any reduction. It is slow, and there is
//! nothing in it that could be wrong. Per class of equivalent executions it notes how it ends; if two equivalent
//! executions end differently then the dependence relation is wrong, and the search panics.

use crate::dependence::{ClassKey, Event, MAX_STEPS, Trace};
use crate::race::find_race;
use selvedge_machine::interp::Interpreter;
use selvedge_machine::memory::ObjectKind;
use selvedge_machine::{Access, Addr, Machine, Op, Purpose, Sc, Status, Stop, ThreadId, ViolationKind, main_thread};
use std::collections::HashMap;

/// How an execution ends; equal for equivalent executions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Whether nothing was in the way: no assumption, no bound, and no thread waits (even if the process has ended and it
    /// is no deadlock). An execution that a violation cut short counts as complete.
    pub complete: bool,
    /// What went wrong: kind and message, sorted.
    pub violations: Vec<(ViolationKind, String)>,
    /// The bounds that were reached, sorted.
    pub bounds: Vec<String>,
    /// What could not be executed.
    pub unsupported: Option<String>,
    /// Where each thread stands.
    pub statuses: Vec<Status>,
    /// What the threads have computed, in the machine's own encoding.
    pub threads: Vec<u64>,
    /// What is left in memory, likewise.
    pub memory: Vec<u64>,
}

impl Ending {
    /// The same, apart from what is left in memory.
    pub fn without_memory(&self) -> Ending {
        Ending { memory: Vec::new(), ..self.clone() }
    }
}

/// A class of equivalent executions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// How its executions end.
    pub ending: Ending,
    /// Whether they have a data race.
    pub race: bool,
    /// How many there are.
    pub executions: u64,
    /// One of them.
    pub schedule: Vec<(ThreadId, u32)>,
}

/// All executions of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Enumeration {
    /// How many interleavings there are.
    pub executions: u64,
    /// How many steps the longest has.
    pub longest: usize,
    /// The classes.
    pub classes: HashMap<ClassKey, Class>,
}

/// Why a program was not enumerated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLarge {
    /// More interleavings, or classes of executions, than asked for.
    Executions,
    /// An execution with more than [`MAX_STEPS`] steps.
    Steps,
}

/// How the final state of a machine is noted.
pub trait FinalState: Machine {
    /// What all threads have computed; equal iff they have computed the same.
    fn final_threads(&self) -> Vec<u64>;

    /// What memory contains; equal iff the contents are.
    fn final_memory(&self) -> Vec<u64>;
}

impl FinalState for crate::LitmusMachine {
    fn final_threads(&self) -> Vec<u64> {
        use selvedge_ir::EntityRef;
        (0..self.program().threads.len()).flat_map(|thread| *self.registers(ThreadId::new(thread))).collect()
    }

    fn final_memory(&self) -> Vec<u64> {
        let var = |bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) => bytes.into_iter().map(u64::from).collect(),
            None => vec![u64::MAX],
        };
        self.bytes().into_iter().flat_map(var).collect()
    }
}

impl FinalState for Interpreter {
    /// Nothing: what an interpreted thread has computed is not in the end but in what it wrote.
    fn final_threads(&self) -> Vec<u64> {
        Vec::new()
    }

    /// The bytes of all global variables, one after the other, each behind its size.
    fn final_memory(&self) -> Vec<u64> {
        let memory = self.memory();
        let mut bytes = Vec::new();
        for id in memory.live_objects(ObjectKind::Global) {
            let object = memory.object(id);
            let byte = |offset| memory.load(main_thread(), Addr(object.base.0 + offset), 1, true).unwrap_or(u64::MAX);
            bytes.push(object.size);
            bytes.extend((0..object.size).map(byte));
        }
        bytes
    }
}

/// Enumerates all interleavings, unless there are more than `max_executions`.
pub fn enumerate<M: FinalState>(machine: M, max_executions: u64) -> Result<Enumeration, TooLarge> {
    enumerate_after(machine, &[], max_executions)
}

/// Enumerates all interleavings that start with the given steps. If these are independent of everything else (such as
/// main creating all threads), all classes are among them.
pub fn enumerate_after<M: FinalState>(
    machine: M,
    prefix: &[(ThreadId, u32)],
    max_executions: u64,
) -> Result<Enumeration, TooLarge> {
    let mut run = match Run::start(machine) {
        Ok(run) => run,
        Err(ending) => return Ok(only(*ending)),
    };
    for &(thread, choice) in prefix {
        run.step(thread, choice);
    }
    let mut search = Search { run, max_executions, found: Enumeration::default() };
    search.explore()?;
    Ok(search.found)
}

/// The enumeration of a program that stops before its first step.
pub(crate) fn only(ending: Ending) -> Enumeration {
    let class = Class { ending, race: false, executions: 1, schedule: Vec::new() };
    Enumeration { executions: 1, longest: 0, classes: HashMap::from([(Trace::default().key(), class)]) }
}

struct Search<M> {
    run: Run<M>,
    max_executions: u64,
    found: Enumeration,
}

impl<M: FinalState> Search<M> {
    fn explore(&mut self) -> Result<(), TooLarge> {
        let enabled: Vec<ThreadId> = self.run.sc.threads().filter(|&thread| self.run.sc.enabled(thread)).collect();
        if enabled.is_empty() {
            return self.end();
        }
        if self.run.trace.events.len() == MAX_STEPS {
            return Err(TooLarge::Steps);
        }
        for thread in enabled {
            for choice in 0..self.run.sc.alternatives(thread) {
                self.run.step(thread, choice);
                self.explore()?;
                self.run.undo();
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), TooLarge> {
        let found = &mut self.found;
        found.executions += 1;
        found.longest = found.longest.max(self.run.trace.events.len());
        if found.executions > self.max_executions {
            return Err(TooLarge::Executions);
        }
        let ending = self.run.ending();
        let class = found.classes.entry(self.run.trace.key()).or_insert_with(|| Class {
            ending: ending.clone(),
            race: find_race(&self.run.trace).is_some(),
            executions: 0,
            schedule: self.run.schedule(),
        });
        class.executions += 1;
        assert_eq!(class.ending, ending, "equivalent executions end in the same way");
        if class.executions <= 4 {
            let race = find_race(&self.run.trace).is_some();
            assert_eq!(class.race, race, "all executions of a class have a data race, or none has");
        }
        Ok(())
    }
}

/// One execution, with what is known about it so far.
pub struct Run<M> {
    /// The program.
    pub sc: Sc<M>,
    /// The steps made.
    pub trace: Trace,
    /// Per step, why its thread stopped, if it did.
    stops: Vec<Option<Stop>>,
}

impl<M: FinalState> Run<M> {
    /// Runs main to its first Op. If it does not get that far: how the execution ends.
    pub fn start(machine: M) -> Result<Run<M>, Box<Ending>> {
        match Sc::start(machine) {
            Ok(sc) => Ok(Run { sc, trace: Trace::default(), stops: Vec::new() }),
            Err((stop, machine)) => {
                let statuses = vec![machine.status(main_thread())];
                let mut ending = Ending::of(&machine, statuses);
                ending.note(&stop);
                Err(Box::new(ending))
            }
        }
    }

    /// Makes a step of an enabled thread.
    pub fn step(&mut self, thread: ThreadId, choice: u32) {
        let op = *self.sc.machine.pending(thread);
        let woken_by = match op {
            Op::CondWake { .. } => self.sc.woken_by(thread),
            _ => None,
        };
        let (done, stop) = match self.sc.step(thread, choice) {
            Ok(done) => (done, None),
            Err((done, stop)) => (done, Some(stop)),
        };
        let faulty = !self.sc.performed();
        let section = if op == Op::AtomicBegin { self.sc.section().to_vec() } else { Vec::new() };
        self.trace.push(Event { thread, op, choice, done, section, woken_by, faulty });
        self.stops.push(stop);
    }

    /// Takes the last step back.
    pub fn undo(&mut self) {
        self.sc.undo();
        self.trace.pop();
        self.stops.pop();
    }

    /// The steps made.
    pub fn schedule(&self) -> Vec<(ThreadId, u32)> {
        self.trace.events.iter().map(|event| (event.thread, event.choice)).collect()
    }

    /// How the execution ends, if no thread can go on.
    pub fn ending(&self) -> Ending {
        let statuses = self.sc.threads().map(|thread| self.sc.machine.status(thread)).collect();
        let mut ending = Ending::of(&self.sc.machine, statuses);
        for stop in self.stops.iter().flatten() {
            ending.note(stop);
        }
        if let Some(kind) = self.stuck() {
            ending.violations.push((kind, String::new()));
        }
        ending.violations.sort();
        ending.bounds.sort();
        ending
    }

    /// Whether threads wait for each other forever. Not if the process has ended; nor if some thread was cut off, or
    /// would try again and might get on, since then it is unknown what it would have done for the others. It is a
    /// livelock if a thread waits for the value of a variable, since others may well wait for that thread; and a
    /// deadlock if all that wait do so for a lock, a signal or the end of a thread.
    fn stuck(&self) -> Option<ViolationKind> {
        let machine = &self.sc.machine;
        let tries_again = |op: &Op| matches!(op, Op::Access(Access { until: Some(until), .. }) if until.retry);
        let cut_off = |thread| match machine.status(thread) {
            Status::AssumeBlocked => !machine.spins(thread) || self.would_get_on(thread),
            Status::Stopped => true,
            Status::Ready => tries_again(machine.pending(thread)) && self.would_get_on(thread),
            _ => false,
        };
        if machine.exited() || self.sc.threads().any(cut_off) {
            return None;
        }
        let mut kind = None;
        let waits = |&thread: &ThreadId| matches!(machine.status(thread), Status::Ready | Status::AssumeBlocked);
        for thread in self.sc.threads().filter(waits) {
            match machine.pending(thread) {
                _ if machine.status(thread) == Status::AssumeBlocked => kind = Some(ViolationKind::Livelock),
                Op::Access(Access { purpose: Purpose::Data, .. }) => kind = Some(ViolationKind::Livelock),
                _ => kind = kind.or(Some(ViolationKind::Deadlock)),
            }
        }
        kind
    }
}

impl<M: FinalState> Run<M> {
    /// Whether a thread that starts the iteration of a loop again might get on: something has changed that it has read in
    /// the iteration, or since it last changed anything.
    fn would_get_on(&self, thread: ThreadId) -> bool {
        let steps = self.sc.machine.iteration(thread).unwrap_or(usize::MAX);
        let own = self.trace.events.iter().rev().filter(|event| event.thread == thread).take(steps);
        let quiet = own.take_while(|event| match event.op {
            Op::Access(_) => event.done.new.is_none() || event.done.new == Some(event.done.old),
            op => matches!(op, Op::Fence { .. }),
        });
        let mut reads = quiet.flat_map(|event| event.accesses());
        let memory = self.sc.machine.memory();
        reads.any(|(access, done)| memory.load(thread, access.addr, access.size, true).ok() != Some(done.old))
    }
}

impl Ending {
    fn of<M: FinalState>(machine: &M, mut statuses: Vec<Status>) -> Ending {
        // Thread numbers that do not exist in this execution may or may not have been heard of yet.
        while statuses.last() == Some(&Status::Absent) {
            statuses.pop();
        }
        let has = |status| statuses.contains(&status);
        let waits = has(Status::Ready) && !has(Status::Stopped);
        Ending {
            complete: !has(Status::AssumeBlocked) && !waits,
            violations: Vec::new(),
            bounds: Vec::new(),
            unsupported: None,
            statuses,
            threads: machine.final_threads(),
            memory: machine.final_memory(),
        }
    }

    fn note(&mut self, stop: &Stop) {
        match stop {
            Stop::Violation(violation) => self.violations.push((violation.kind, violation.message.clone())),
            Stop::Bound(bound) => {
                self.complete = false;
                self.bounds.push(bound.what.clone());
            }
            Stop::Unsupported(unsupported) => self.unsupported = Some(unsupported.feature.clone()),
        }
    }
}

//! Every interleaving of a program whose processes pass messages, and the classes that they fall into.
//!
//! Two searches. [`interleavings`] makes every possible step in every state that some order of steps leads to, and leaves
//! nothing out. [`classes`] does not go on where it has met an equivalent execution before: equivalent in the plain sense,
//! in which the state is the same. (With observers it need not be: mailboxes may differ in what nobody has looked at yet.)
//! It is right as long as the plain relation is, which the first one watches over on smaller programs.
//!
//! Both say for every class in the plain sense how it ends and what every process has seen, and which class with observers
//! it belongs to.

use super::dependence::{ClassKey, Equivalence, MAX_STEPS, happens_before, key, linearizations};
use super::event::Actor;
use super::naive::{Naive, Seen};
use selvedge_machine::{Stop, ViolationKind};
use selvedge_messages::{Machine, Pid, Status};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A step as a schedule has it.
pub type Step = (Actor, u32);

/// How a process is left.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Left {
    /// It has ended, for this reason.
    Ended(String),
    /// It waits, as a server may.
    Serves,
    /// It waits forever.
    Waits,
    /// It was stopped.
    Stopped,
}

/// How an execution ends: all that can be told from outside, and all that processes have seen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ending {
    /// Every process, by number.
    pub processes: BTreeMap<Pid, (Left, Vec<Seen>)>,
    /// Violations.
    pub violations: Vec<(ViolationKind, String)>,
    /// Bounds that were reached.
    pub bounds: Vec<String>,
}

impl Ending {
    /// Whether no process waits forever, and no bound was reached. (One that was stopped by a violation is done.)
    pub fn complete(&self) -> bool {
        self.bounds.is_empty() && self.processes.values().all(|(left, _)| *left != Left::Waits)
    }

    /// Whether processes wait forever, and none was stopped that they might wait for.
    pub fn deadlock(&self) -> bool {
        let any = |wanted: &Left| self.processes.values().any(|(left, _)| left == wanted);
        any(&Left::Waits) && !any(&Left::Stopped)
    }
}

/// Executions that are equivalent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// How they end.
    pub ending: Ending,
    /// How many there are (met).
    pub executions: u64,
    /// One of them.
    pub schedule: Vec<Step>,
}

/// All that there is to know about a program.
#[derive(Clone, Debug, Default)]
pub struct Enumeration {
    /// How many executions were met.
    pub executions: u64,
    /// The classes in the plain sense.
    pub plain: HashMap<ClassKey, Class>,
    /// The classes with observers.
    pub observers: HashMap<ClassKey, Class>,
    /// How many steps the longest execution has.
    pub longest: usize,
}

impl Enumeration {
    /// The classes of an equivalence.
    pub fn of(&self, equivalence: Equivalence) -> &HashMap<ClassKey, Class> {
        match equivalence {
            Equivalence::Plain => &self.plain,
            Equivalence::Observers => &self.observers,
        }
    }
}

/// Why a program was not enumerated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLarge {
    /// Too many executions (or classes of their beginnings).
    Executions,
    /// Too many steps in one.
    Steps,
}

/// All interleavings, unless there are more than `most`.
pub fn interleavings<M: Machine>(run: &mut Naive<M>, most: u64) -> Result<Enumeration, TooLarge> {
    search(run, most, None)
}

/// All classes, unless more than `most` classes of beginnings have to be looked at.
pub fn classes<M: Machine>(run: &mut Naive<M>, most: u64) -> Result<Enumeration, TooLarge> {
    search(run, most, Some(HashSet::new()))
}

fn search<M: Machine>(run: &mut Naive<M>, most: u64, met: Option<HashSet<ClassKey>>) -> Result<Enumeration, TooLarge> {
    let depth = run.events.len();
    let mut search = Search { run, most, met, found: Enumeration::default() };
    let result = search.explore();
    let found = search.found;
    while run.events.len() > depth {
        run.undo();
    }
    result.map(|()| found)
}

struct Search<'a, M: Machine> {
    run: &'a mut Naive<M>,
    most: u64,
    /// The classes of beginnings that were met, if it is enough to look at one of each.
    met: Option<HashSet<ClassKey>>,
    found: Enumeration,
}

impl<M: Machine> Search<'_, M> {
    fn explore(&mut self) -> Result<(), TooLarge> {
        if let Some(met) = &mut self.met {
            if !met.insert(key(self.run, Equivalence::Plain)) {
                return Ok(());
            }
            if met.len() as u64 > self.most {
                return Err(TooLarge::Executions);
            }
        }
        let enabled = self.run.enabled();
        if enabled.is_empty() {
            return self.end();
        }
        if self.run.events.len() == MAX_STEPS {
            return Err(TooLarge::Steps);
        }
        for (actor, alternatives) in enabled {
            for choice in 0..alternatives {
                self.run.step(actor, choice);
                self.explore()?;
                self.run.undo();
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), TooLarge> {
        let found = &mut self.found;
        found.executions += 1;
        found.longest = found.longest.max(self.run.events.len());
        if found.executions > self.most {
            return Err(TooLarge::Executions);
        }
        let ending = ending(self.run);
        for equivalence in [Equivalence::Plain, Equivalence::Observers] {
            let classes = match equivalence {
                Equivalence::Plain => &mut found.plain,
                Equivalence::Observers => &mut found.observers,
            };
            let class = classes.entry(key(self.run, equivalence)).or_insert_with(|| Class {
                ending: ending.clone(),
                executions: 0,
                schedule: schedule(self.run),
            });
            class.executions += 1;
            assert_eq!(class.ending, ending, "equivalent executions end in the same way ({equivalence:?})");
        }
        Ok(())
    }
}

/// The steps made.
pub fn schedule<M: Machine>(run: &Naive<M>) -> Vec<Step> {
    run.events.iter().map(|event| (event.actor, event.choice)).collect()
}

/// How the present execution ends, if nobody can go on.
pub fn ending<M: Machine>(run: &Naive<M>) -> Ending {
    let left = |pid: Pid| {
        if let Some((_, reason)) = run.reasons.iter().find(|(who, _)| *who == pid) {
            return Left::Ended(run.machine.show_reason(reason));
        }
        match run.machine.status(pid) {
            Status::Stopped | Status::Halted => Left::Stopped,
            _ if run.machine.is_server(pid) => Left::Serves,
            _ => Left::Waits,
        }
    };
    let processes = run.state.processes.iter();
    let processes = processes.map(|(&pid, process)| (pid, (left(pid), process.history.clone()))).collect();
    let mut ending = Ending { processes, violations: Vec::new(), bounds: Vec::new() };
    for stop in run.at_start.iter().chain(run.events.iter().flat_map(|event| &event.stops)) {
        match stop {
            Stop::Violation(violation) => ending.violations.push((violation.kind, violation.message.clone())),
            Stop::Bound(bound) => ending.bounds.push(bound.what.clone()),
            Stop::Unsupported(what) => ending.bounds.push(what.feature.clone()),
        }
    }
    ending.violations.sort();
    ending.bounds.sort();
    ending
}

/// Checks Property 4 of the paper's Def. 1: a class has as many executions as its happens-before has linearizations. The
/// enumeration must be one of all interleavings.
pub fn check_linearizations<M: Machine>(
    run: &mut Naive<M>,
    found: &Enumeration,
    equivalence: Equivalence,
) -> Result<(), String> {
    for class in found.of(equivalence).values() {
        let depth = run.events.len();
        class.schedule.iter().for_each(|&(actor, choice)| run.step(actor, choice));
        let ways = linearizations(&happens_before(run, equivalence), 100_000);
        while run.events.len() > depth {
            run.undo();
        }
        if ways.is_some_and(|ways| ways != class.executions) {
            let (met, ways) = (class.executions, ways.unwrap_or(0));
            return Err(format!("{equivalence:?}: {met} executions, {ways} linearizations of {:?}", class.schedule));
        }
    }
    Ok(())
}

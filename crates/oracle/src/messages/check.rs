//! What an engine has to agree with the enumerator on.
//!
//! An engine reports its result and the schedule of every maximal execution that it explored. These are run again here, and
//! the class of each is computed by the oracle's own definition. Then:
//!
//! - every execution must be possible and maximal;
//! - every class must have been explored, and once only;
//! - complete and blocked executions and the violations must be the same;
//! - a reported violation must show when its schedule is run again.

use super::actor::ActorMachine;
use super::dependence::{ClassKey, Equivalence, key};
use super::enumerate::{Ending, Enumeration, Step, check_linearizations, classes, ending, interleavings};
use super::event::Actor;
use super::naive::{Delivery, Naive};
use super::program::Program;
use selvedge_machine::ViolationKind;
use selvedge_messages::schedule::Who;
use selvedge_messages::{Exploration, Pid, Ref, Schedule, Sender};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// What an engine is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// Its name on the command line.
    pub name: &'static str,
    /// What counts as equivalent.
    pub equivalence: Equivalence,
    /// When messages arrive.
    pub delivery: Delivery,
}

/// All modes.
pub const MODES: &[Mode] = {
    use {Delivery::*, Equivalence::*};
    &[
        Mode { name: "optimal", equivalence: Plain, delivery: Instant },
        Mode { name: "observers", equivalence: Observers, delivery: Instant },
        Mode { name: "optimal-fifo", equivalence: Plain, delivery: Fifo },
        Mode { name: "observers-fifo", equivalence: Observers, delivery: Fifo },
    ]
};

impl Mode {
    /// The mode with this name.
    pub fn named(name: &str) -> Option<&'static Mode> {
        MODES.iter().find(|mode| mode.name == name)
    }
}

/// What an engine reports.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Each maximal execution.
    pub executions: Vec<Schedule>,
    /// The result.
    pub result: Exploration,
}

/// What an engine and the enumerator disagree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The engine panicked.
    Panic,
    /// The exploration was not finished.
    Interrupted,
    /// A schedule cannot be run.
    Impossible,
    /// Somebody could have gone on at the end of an execution.
    NotMaximal,
    /// What processes see in some execution was not seen in any that was explored.
    Unseen,
    /// A class was not explored, but processes saw the same in another.
    Missing,
    /// A class was explored more than once.
    Twice,
    /// The number of complete or blocked executions.
    Counts,
    /// The violations.
    Violations,
    /// The schedule of a violation does not show it.
    Schedule,
}

/// A disagreement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// On what.
    pub subject: Subject,
    /// In which mode.
    pub mode: Mode,
    /// What the engine says and what is the case.
    pub details: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in mode {}: {}", self.subject, self.mode.name, self.details)
    }
}

/// How large programs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// At most this many interleavings: each of them is enumerated.
    Interleavings(u64),
    /// At most this many classes of executions, maximal or not, each of which is looked at once.
    Prefixes(u64),
}

/// A program, and all that there is to know about it with one kind of delivery.
pub struct Known {
    run: Naive<ActorMachine>,
    /// Its executions.
    pub found: Enumeration,
}

impl Known {
    /// Enumerates a program; none if it is too large.
    pub fn new(program: &Program, delivery: Delivery, size: Size) -> Option<Known> {
        let mut run = Naive::start(ActorMachine::new(program.clone()).ok()?, delivery);
        let found = match size {
            Size::Interleavings(most) => interleavings(&mut run, most),
            Size::Prefixes(most) => classes(&mut run, most),
        };
        Some(Known { found: found.ok()?, run })
    }

    /// Whether every class has as many executions as its happens-before has linearizations. All interleavings must have
    /// been enumerated.
    pub fn check_linearizations(&mut self) -> Result<(), String> {
        [Equivalence::Plain, Equivalence::Observers]
            .into_iter()
            .try_for_each(|equivalence| check_linearizations(&mut self.run, &self.found, equivalence))
    }
}

type Checked = Result<(), (Subject, String)>;

/// Compares what an engine reports about a program with what the enumerator found.
pub fn compare(known: &mut Known, explored: &Explored, mode: Mode) -> Result<(), Disagreement> {
    let mut check = || -> Checked {
        if let Some(why) = explored.result.interruption {
            return Err((Subject::Interrupted, format!("{why:?}")));
        }
        compare_executions(known, explored, mode.equivalence)?;
        compare_counts(known, explored, mode.equivalence)?;
        compare_violations(known, explored)?;
        explored.result.violations.iter().try_for_each(|shown| {
            let (kind, message) = (shown.violation.kind, &shown.violation.message);
            let shows = |ending: &Ending, maximal: bool| match kind {
                ViolationKind::Deadlock => maximal && ending.deadlock(),
                kind => ending.violations.contains(&(kind, message.clone())),
            };
            let (_, ending, maximal) = rerun(&mut known.run, &shown.schedule, mode.equivalence)?;
            if shows(&ending, maximal) {
                return Ok(());
            }
            Err((Subject::Schedule, format!("{} does not show: {message}", shown.schedule)))
        })
    };
    check().map_err(|(subject, details)| Disagreement { subject, mode, details })
}

fn compare_executions(known: &mut Known, explored: &Explored, equivalence: Equivalence) -> Checked {
    let all = known.found.of(equivalence);
    let mut times: HashMap<ClassKey, Vec<String>> = HashMap::new();
    let mut seen: HashSet<Ending> = HashSet::new();
    for schedule in &explored.executions {
        let (key, ending, maximal) = rerun(&mut known.run, schedule, equivalence)?;
        if !maximal {
            return Err((Subject::NotMaximal, format!("somebody can go on after {schedule}")));
        }
        if !all.contains_key(&key) {
            return Err((Subject::Impossible, format!("no interleaving is equivalent to {schedule}")));
        }
        times.entry(key).or_default().push(schedule.to_string());
        seen.insert(ending);
    }
    let mut missing = None;
    for (key, class) in all {
        match times.get(key).map(Vec::as_slice) {
            None => {
                let unseen = !seen.contains(&class.ending);
                let which = listed(&known.run, &class.schedule);
                let counts = format!("{} executions, {} classes", explored.executions.len(), all.len());
                let what = format!("{counts}; none is equivalent to {which}");
                missing = missing.max(Some((unseen, what)));
            }
            Some([first, second, ..]) => {
                let counts = format!("{} executions, {} classes", explored.executions.len(), all.len());
                return Err((Subject::Twice, format!("{counts};\n{first} is equivalent to\n{second}")));
            }
            Some(_) => {}
        }
    }
    missing.map_or(Ok(()), |(unseen, what)| Err((if unseen { Subject::Unseen } else { Subject::Missing }, what)))
}

fn compare_counts(known: &Known, explored: &Explored, equivalence: Equivalence) -> Checked {
    let all = known.found.of(equivalence);
    let complete = all.values().filter(|class| class.ending.complete()).count() as u64;
    let expected = (complete, all.len() as u64 - complete);
    let reported = (explored.result.complete, explored.result.blocked);
    if expected == reported {
        return Ok(());
    }
    Err((Subject::Counts, format!("complete and blocked: {reported:?} are reported, {expected:?} exist")))
}

fn compare_violations(known: &Known, explored: &Explored) -> Checked {
    // The words for processes that wait are the engine's own.
    let plain = |kind: ViolationKind, message: &str| match kind {
        ViolationKind::Deadlock => (kind, String::new()),
        kind => (kind, message.to_owned()),
    };
    let mut expected = BTreeSet::new();
    for class in known.found.plain.values() {
        expected.extend(class.ending.violations.iter().map(|(kind, text)| plain(*kind, text)));
        expected.extend(class.ending.deadlock().then(|| plain(ViolationKind::Deadlock, "")));
    }
    let reported = explored.result.violations.iter().map(|shown| &shown.violation);
    let reported: BTreeSet<_> = reported.map(|violation| plain(violation.kind, &violation.message)).collect();
    if expected == reported {
        return Ok(());
    }
    Err((Subject::Violations, format!("{reported:?} are reported, {expected:?} exist")))
}

/// Runs a schedule: its class, its ending, and whether nobody can go on.
fn rerun(
    run: &mut Naive<ActorMachine>,
    schedule: &Schedule,
    equivalence: Equivalence,
) -> Result<(ClassKey, Ending, bool), (Subject, String)> {
    let depth = run.events.len();
    let mut result = Ok(());
    for (n, step) in schedule.steps.iter().enumerate() {
        go_on_quietly(run, schedule.quiet);
        let actor = actor(run, &step.who);
        let possible = |&actor: &Actor| run.enabled().iter().any(|&(who, most)| who == actor && step.choice < most);
        let Some(actor) = actor.filter(possible) else {
            result = Err((Subject::Impossible, format!("step {} of {schedule}", n + 1)));
            break;
        };
        run.step(actor, step.choice);
    }
    let result = result.map(|()| {
        go_on_quietly(run, schedule.quiet);
        (key(run, equivalence), ending(run), run.enabled().is_empty())
    });
    while run.events.len() > depth {
        run.undo();
    }
    result
}

/// A quiet schedule leaves out that processes are created and end: it is done as soon as it can be.
fn go_on_quietly(run: &mut Naive<ActorMachine>, quiet: bool) {
    while let Some(pid) = run.goes_on_quietly().filter(|_| quiet) {
        run.step(Actor::Process(pid), 0);
    }
}

/// Who somebody is; none if no such process was ever met.
fn actor(run: &Naive<ActorMachine>, who: &Who) -> Option<Actor> {
    Some(match who {
        Who::Process(path) => Actor::Process(run.process_at(&path.0)?),
        Who::Channel(from, to) => {
            let from = match actor(run, from)? {
                Actor::Process(pid) | Actor::Channel(_, pid) => Sender::Process(pid),
                Actor::Timer(timer) => Sender::Timer(timer),
            };
            Actor::Channel(from, run.process_at(&to.0)?)
        }
        Who::Timer(owner, n) => Actor::Timer(Ref { owner: run.process_at(&owner.0)?, n: *n }),
    })
}

/// A schedule in the text form of the engine's.
fn listed(run: &Naive<ActorMachine>, steps: &[Step]) -> String {
    let name = |pid: Pid| run.path(pid).iter().fold("0".to_owned(), |name, n| format!("{name}.{n}"));
    let sender = |sender: Sender| match sender {
        Sender::Process(pid) => name(pid),
        Sender::Timer(timer) => format!("{}#{}", name(timer.owner), timer.n),
    };
    let step = |&(actor, choice): &Step| {
        let who = match actor {
            Actor::Process(pid) => name(pid),
            Actor::Channel(from, to) => format!("{}>{}", sender(from), name(to)),
            Actor::Timer(timer) => sender(Sender::Timer(timer)),
        };
        if choice == 0 { who } else { format!("{who}/{choice}") }
    };
    steps.iter().map(step).collect::<Vec<_>>().join(" ")
}

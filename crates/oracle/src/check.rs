//! What an engine has to agree with the enumerator on.
//!
//! An engine reports its result and the steps of every maximal execution that it explored. These steps are run again
//! here, and the class of each execution is computed by the oracle's own definition. Then:
//!
//! - every execution must be possible and maximal;
//! - no class may be missing; without reduction every interleaving is explored, with a reduction every class once (the
//!   classes of a coarser equivalence, if one is asked for); and an optimal one must not even start an execution that
//!   turns out to be equivalent to another;
//! - complete and blocked executions, violations and bounds must be the same;
//! - a data race must be reported iff some class has one;
//! - a reported violation must show when its schedule is run again.

use crate::dependence::ClassKey;
use crate::enumerate::{Class, Enumeration, Run};
use crate::litmus::Program;
use crate::machine::LitmusMachine;
use crate::race::find_race;
use crate::relaxation::{HardBytes, Relaxation};
use selvedge_ir::EntityRef;
use selvedge_machine::verdict::{Exploration, Found};
use selvedge_machine::{ThreadId, Violation, ViolationKind};
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// How much an engine leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Nothing.
    None,
    /// Equivalent executions, but it may start some that it gives up.
    Source,
    /// Equivalent executions, and it never starts one in vain.
    Optimal,
}

/// What an engine is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// Its name on the command line.
    pub name: &'static str,
    /// How much is left out.
    pub reduction: Reduction,
    /// What counts as equivalent.
    pub relaxation: Relaxation,
}

/// All modes.
pub const MODES: &[Mode] = {
    use Reduction::*;
    let (ifaa, observers) = (Relaxation { ifaa: true, observers: false }, Relaxation { ifaa: false, observers: true });
    let both = Relaxation { ifaa: true, observers: true };
    &[
        Mode { name: "naive", reduction: None, relaxation: Relaxation::NONE },
        Mode { name: "source", reduction: Source, relaxation: Relaxation::NONE },
        Mode { name: "optimal", reduction: Optimal, relaxation: Relaxation::NONE },
        Mode { name: "source-ifaa", reduction: Source, relaxation: ifaa },
        Mode { name: "ifaa", reduction: Optimal, relaxation: ifaa },
        Mode { name: "observers", reduction: Optimal, relaxation: observers },
        Mode { name: "ifaa-observers", reduction: Optimal, relaxation: both },
    ]
};

impl Mode {
    /// The mode with this name.
    pub fn named(name: &str) -> Option<&'static Mode> {
        MODES.iter().find(|mode| mode.name == name)
    }
}

/// What an engine reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    /// The steps of each maximal execution.
    pub executions: Vec<Vec<(ThreadId, u32)>>,
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
    /// Some thread could have gone on at the end of an execution.
    NotMaximal,
    /// A class was not explored.
    Missing,
    /// A class was explored more than once.
    Twice,
    /// An execution was started in vain.
    Redundant,
    /// The number of interleavings.
    Interleavings,
    /// The number of complete or blocked executions.
    Counts,
    /// The violations.
    Violations,
    /// Whether there is a data race.
    DataRace,
    /// The bounds that were reached.
    Bounds,
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

type Checked = Result<(), (Subject, String)>;

/// Compares what an engine reports about a program with what the enumerator found.
pub fn compare(program: &Program, found: &Enumeration, explored: &Explored, mode: Mode) -> Result<(), Disagreement> {
    let check = || -> Checked {
        if let Some(why) = explored.result.interruption {
            return Err((Subject::Interrupted, format!("{why:?}")));
        }
        if let Some(unsupported) = &explored.result.unsupported {
            return Err((Subject::Interrupted, unsupported.feature.clone()));
        }
        // A program that stops before its first step has no execution to speak of.
        if found.longest > 0 {
            let classes = Relaxed::new(program, found, mode.relaxation)?;
            compare_executions(program, &classes, explored, mode.reduction)?;
            compare_counts(&classes, explored, mode.reduction)?;
        }
        compare_violations(found, explored)?;
        if mode.reduction != Reduction::None {
            compare_races(found, explored)?;
        }
        compare_bounds(found, explored)?;
        explored.result.violations.iter().try_for_each(|shown| replay(program, shown))
    };
    check().map_err(|(subject, details)| Disagreement { subject, mode, details })
}

/// The classes of a coarser equivalence.
struct Relaxed {
    relaxation: Relaxation,
    hard: HardBytes,
    /// The classes; memory is left out of their endings.
    classes: HashMap<ClassKey, Class>,
}

impl Relaxed {
    fn new(program: &Program, found: &Enumeration, relaxation: Relaxation) -> Result<Relaxed, (Subject, String)> {
        let mut relaxed = Relaxed { relaxation, hard: HardBytes::default(), classes: HashMap::new() };
        if relaxation == Relaxation::NONE {
            relaxed.classes.clone_from(&found.classes);
            return Ok(relaxed);
        }
        let mut runs = Vec::new();
        for class in found.classes.values() {
            let run = rerun(program, &class.schedule)?;
            relaxed.hard.note(&run);
            runs.push((class, run.trace));
        }
        for (class, trace) in runs {
            let ending = class.ending.without_memory();
            let empty = Class { ending: ending.clone(), executions: 0, ..class.clone() };
            let union = relaxed.classes.entry(relaxation.key(&trace, &relaxed.hard)).or_insert(empty);
            union.executions += class.executions;
            assert_eq!(union.ending, ending, "executions that are equivalent in a coarser sense end in the same way");
        }
        Ok(relaxed)
    }
}

fn compare_executions(program: &Program, all: &Relaxed, explored: &Explored, reduction: Reduction) -> Checked {
    let mut times: HashMap<ClassKey, u64> = HashMap::new();
    for steps in &explored.executions {
        let run = rerun(program, steps)?;
        if let Some(thread) = run.sc.threads().find(|&thread| run.sc.enabled(thread)) {
            return Err((Subject::NotMaximal, format!("{thread} can go on after {}", listed(steps))));
        }
        let key = match all.relaxation {
            Relaxation::NONE => run.trace.key(),
            relaxation => relaxation.key(&run.trace, &all.hard),
        };
        if !all.classes.contains_key(&key) {
            return Err((Subject::Impossible, format!("no interleaving is equivalent to {}", listed(steps))));
        }
        *times.entry(key).or_default() += 1;
    }
    for (key, class) in &all.classes {
        match (times.get(key), reduction) {
            (None, _) => {
                let which = format!("{}, which ends with {:?}", listed(&class.schedule), class.ending);
                return Err((Subject::Missing, format!("no execution is equivalent to {which}")));
            }
            (Some(&n), Reduction::None) if n != class.executions => {
                let what = format!("{n} of {} interleavings like {}", class.executions, listed(&class.schedule));
                return Err((Subject::Interleavings, what));
            }
            (Some(&n), Reduction::Source | Reduction::Optimal) if n > 1 => {
                return Err((Subject::Twice, format!("{n} executions like {}", listed(&class.schedule))));
            }
            _ => {}
        }
    }
    match (reduction, explored.result.redundant) {
        (Reduction::None | Reduction::Optimal, n) if n > 0 => Err((Subject::Redundant, format!("{n} executions"))),
        _ => Ok(()),
    }
}

fn compare_counts(all: &Relaxed, explored: &Explored, reduction: Reduction) -> Checked {
    let weight = |executions: u64| if reduction == Reduction::None { executions } else { 1 };
    let count = |complete: bool| -> u64 {
        all.classes.values().filter(|c| c.ending.complete == complete).map(|c| weight(c.executions)).sum()
    };
    let expected = (count(true), count(false));
    let reported = (explored.result.complete, explored.result.blocked);
    if expected == reported {
        return Ok(());
    }
    Err((Subject::Counts, format!("complete and blocked: {reported:?} are reported, {expected:?} exist")))
}

fn waits(kind: ViolationKind) -> bool {
    matches!(kind, ViolationKind::Deadlock | ViolationKind::Livelock)
}

/// Whether a violation is that two steps are not ordered: accesses, or an access and a `free` behind it.
fn is_race(violation: &Violation) -> bool {
    violation.kind == ViolationKind::DataRace
        || violation.kind == ViolationKind::UseAfterFree && violation.message.ends_with("before the free")
}

fn compare_violations(found: &Enumeration, explored: &Explored) -> Checked {
    // The words for threads that wait are the engine's own.
    let plain =
        |kind: ViolationKind, message: &str| (kind, if waits(kind) { String::new() } else { message.to_owned() });
    let expected: BTreeSet<_> = found
        .classes
        .values()
        .flat_map(|c| c.ending.violations.iter().map(|(kind, text)| plain(*kind, text)))
        .collect();
    let reported = explored.result.violations.iter().map(|shown| &shown.violation);
    let reported = reported.filter(|violation| !is_race(violation));
    let reported: BTreeSet<_> = reported.map(|violation| plain(violation.kind, &violation.message)).collect();
    if expected == reported {
        return Ok(());
    }
    Err((Subject::Violations, format!("{reported:?} are reported, {expected:?} exist")))
}

fn compare_races(found: &Enumeration, explored: &Explored) -> Checked {
    let reported = explored.result.violations.iter().find(|shown| is_race(&shown.violation));
    let exists = found.classes.values().find(|class| class.race);
    match (reported, exists) {
        (Some(shown), None) => Err((Subject::DataRace, format!("there is none: {}", shown.violation.message))),
        (None, Some(class)) => Err((Subject::DataRace, format!("none is reported in {}", listed(&class.schedule)))),
        _ => Ok(()),
    }
}

fn compare_bounds(found: &Enumeration, explored: &Explored) -> Checked {
    let expected: BTreeSet<&str> =
        found.classes.values().flat_map(|class| class.ending.bounds.iter().map(String::as_str)).collect();
    let reported: BTreeSet<&str> = explored.result.bounds.iter().map(|(bound, _)| bound.what.as_str()).collect();
    if expected == reported {
        return Ok(());
    }
    Err((Subject::Bounds, format!("{reported:?} are reported, {expected:?} exist")))
}

/// Checks that the schedule of a violation shows it.
fn replay(program: &Program, shown: &Found) -> Checked {
    let (kind, message) = (shown.violation.kind, &shown.violation.message);
    let paths = program.paths().map_err(|what| (Subject::Schedule, what))?;
    let mut steps = Vec::new();
    for step in &shown.schedule.steps {
        let thread = paths.iter().position(|path| *path == step.thread);
        let thread = thread.ok_or_else(|| (Subject::Schedule, format!("there is no thread {:?}", step.thread)))?;
        steps.push((ThreadId::new(thread), step.choice));
    }
    let Ok(machine) = LitmusMachine::new(program.clone()) else { unreachable!("the program was run already") };
    if steps.is_empty() && Run::start(machine).is_err() {
        return Ok(());
    }
    let run = rerun(program, &steps)?;
    let shows = match kind {
        _ if is_race(&shown.violation) => find_race(&run.trace).is_some(),
        kind if waits(kind) => {
            !run.sc.threads().any(|thread| run.sc.enabled(thread))
                && run.ending().violations.iter().any(|(other, _)| *other == kind)
        }
        kind => run.ending().violations.contains(&(kind, message.clone())),
    };
    if shows { Ok(()) } else { Err((Subject::Schedule, format!("{} does not show: {message}", listed(&steps)))) }
}

/// Runs steps again.
fn rerun(program: &Program, steps: &[(ThreadId, u32)]) -> Result<Run<LitmusMachine>, (Subject, String)> {
    let impossible = |n: usize| (Subject::Impossible, format!("step {} of {}", n + 1, listed(steps)));
    let machine = LitmusMachine::new(program.clone()).map_err(|what| (Subject::Impossible, what))?;
    let mut run = Run::start(machine).map_err(|_| impossible(0))?;
    for (n, &(thread, choice)) in steps.iter().enumerate() {
        if !run.sc.enabled(thread) || choice >= run.sc.alternatives(thread) {
            return Err(impossible(n));
        }
        run.step(thread, choice);
    }
    Ok(run)
}

/// A schedule in short: `t0 t1 t1 t2/1`, with the alternative if it is not the first.
fn listed(steps: &[(ThreadId, u32)]) -> String {
    let step = |&(thread, choice): &(ThreadId, u32)| match choice {
        0 => thread.to_string(),
        _ => format!("{thread}/{choice}"),
    };
    steps.iter().map(step).collect::<Vec<_>>().join(" ")
}

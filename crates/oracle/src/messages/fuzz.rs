//! One random program after another, until an engine is wrong.

use super::actor::ActorMachine;
use super::check::{Disagreement, Explored, Known, Mode, Size, Subject, compare};
use super::generate::{Profile, generate_sized};
use super::naive::Delivery;
use super::program::Program;
use super::shrink::shrink;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// An engine: explores a program in a mode, and gives up after so many executions.
pub type Engine<'a> = &'a dyn Fn(ActorMachine, Mode, u64) -> Explored;

/// Which programs are tried, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The kind of programs.
    pub profile: &'static Profile,
    /// The seed of the first; each next one has the next seed.
    pub seed: u64,
    /// At most so many programs.
    pub programs: u64,
    /// For at most this time.
    pub time: Option<Duration>,
    /// How large programs are.
    pub size: Size,
    /// What the engine is asked to do.
    pub modes: &'static [Mode],
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct FuzzReport {
    /// How many programs were tried.
    pub programs: u64,
    /// How many executions were enumerated.
    pub executions: u64,
    /// How many classes they have.
    pub classes: u64,
    /// The first failure, after which nothing more was tried.
    pub failure: Option<Failure>,
}

/// A program on which an engine is wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The profile.
    pub profile: &'static str,
    /// The seed.
    pub seed: u64,
    /// What is wrong about the shrunk program.
    pub disagreement: Disagreement,
    /// The program, shrunk.
    pub program: Program,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# profile {}, seed {}", self.profile, self.seed)?;
        for line in self.disagreement.to_string().lines() {
            writeln!(f, "# {line}")?;
        }
        write!(f, "{}", self.program)
    }
}

/// Tries programs as planned.
pub fn fuzz(plan: &Plan, engine: Engine<'_>) -> FuzzReport {
    let started = Instant::now();
    let mut report = FuzzReport::default();
    for n in 0..plan.programs {
        if plan.time.is_some_and(|time| started.elapsed() >= time) {
            break;
        }
        let seed = plan.seed.wrapping_add(n);
        let (program, mut known) = generate_sized(plan.profile, seed, plan.size);
        report.programs += 1;
        for one in &known {
            report.executions += one.found.executions;
            report.classes += (one.found.plain.len() + one.found.observers.len()) as u64;
        }
        if let Err(disagreement) = check(&program, &mut known, plan.modes, engine) {
            let (program, disagreement) = shrunk(&program, disagreement, plan.size, engine);
            report.failure = Some(Failure { profile: plan.profile.name, seed, disagreement, program });
            break;
        }
    }
    report
}

/// Compares an engine with the enumerator on one program, whose executions are known for both kinds of delivery.
pub fn check(
    program: &Program,
    known: &mut [Known; 2],
    modes: &[Mode],
    engine: Engine<'_>,
) -> Result<(), Disagreement> {
    let [instant, fifo] = known;
    modes.iter().try_for_each(|&mode| {
        let known = if mode.delivery == Delivery::Instant { &mut *instant } else { &mut *fifo };
        check_one(program, known, mode, engine)
    })
}

/// The same for a program in a file; an error if it is too large.
pub fn check_program(
    program: &Program,
    modes: &[Mode],
    engine: Engine<'_>,
) -> Result<Result<(), Disagreement>, String> {
    let size = Size::Prefixes(200_000);
    let known =
        |delivery| Known::new(program, delivery, size).ok_or_else(|| format!("{delivery:?}: the program is too large"));
    Ok(check(program, &mut [known(Delivery::Instant)?, known(Delivery::Fifo)?], modes, engine))
}

fn check_one(program: &Program, known: &mut Known, mode: Mode, engine: Engine<'_>) -> Result<(), Disagreement> {
    let machine = ActorMachine::new(program.clone()).expect("the program was enumerated");
    // An engine that explores more than there are classes is wrong: no need to wait for the end.
    let most = 2 * known.found.of(mode.equivalence).len() as u64 + 2;
    match catch_unwind(AssertUnwindSafe(|| engine(machine, mode, most))) {
        Ok(explored) => compare(known, &explored, mode),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            Err(Disagreement { subject: Subject::Panic, mode, details: text.to_owned() })
        }
    }
}

/// The smallest program with the same kind of disagreement.
fn shrunk(program: &Program, disagreement: Disagreement, size: Size, engine: Engine<'_>) -> (Program, Disagreement) {
    let size = match size {
        // A little more, since a program can have more interleavings when an instruction is dropped.
        Size::Interleavings(most) => Size::Interleavings(2 * most),
        Size::Prefixes(most) => Size::Prefixes(2 * most),
    };
    let mut latest = disagreement;
    let small = shrink(program, |candidate| {
        let Some(mut known) = Known::new(candidate, latest.mode.delivery, size) else { return false };
        match check_one(candidate, &mut known, latest.mode, engine) {
            Err(other) if other.subject == latest.subject => {
                latest = other;
                true
            }
            _ => false,
        }
    });
    (small, latest)
}

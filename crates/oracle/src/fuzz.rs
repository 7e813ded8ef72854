//! One random program after another, until an engine is wrong.

use crate::check::{Disagreement, Explored, Mode, Reduction, Subject, compare};
use crate::enumerate::Enumeration;
use crate::generate::{Profile, Size, generate_sized};
use crate::litmus::Program;
use crate::machine::LitmusMachine;
use crate::shrink::shrink;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// An engine: explores a program in a mode, and gives up after so many executions.
pub type Engine<'a> = &'a dyn Fn(LitmusMachine, Mode, u64) -> Explored;

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
    /// How many interleavings they have.
    pub executions: u64,
    /// How many classes.
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
    // How many interleavings there are is known of small programs only.
    let counted = matches!(plan.size, Size::Interleavings(_));
    let modes: Vec<Mode> = plan.modes.iter().copied().filter(|m| counted || m.reduction != Reduction::None).collect();
    for n in 0..plan.programs {
        if plan.time.is_some_and(|time| started.elapsed() >= time) {
            break;
        }
        let seed = plan.seed.wrapping_add(n);
        let (program, found) = generate_sized(plan.profile, seed, plan.size);
        report.programs += 1;
        report.executions += found.executions;
        report.classes += found.classes.len() as u64;
        if let Err(disagreement) = check(&program, &found, &modes, engine) {
            let (program, disagreement) = shrunk(&program, disagreement, plan.size, engine);
            report.failure = Some(Failure { profile: plan.profile.name, seed, disagreement, program });
            break;
        }
    }
    report
}

/// Compares an engine with the enumerator on one program.
pub fn check(program: &Program, found: &Enumeration, modes: &[Mode], engine: Engine<'_>) -> Result<(), Disagreement> {
    modes.iter().try_for_each(|&mode| check_one(program, found, mode, engine))
}

fn check_one(program: &Program, found: &Enumeration, mode: Mode, engine: Engine<'_>) -> Result<(), Disagreement> {
    let machine = LitmusMachine::new(program.clone()).expect("the program was enumerated");
    // More executions than there are interleavings cannot be right: no need to wait for an engine that does not end. (If
    // only classes were counted, an optimal one starts no more than these.)
    let most = match mode.reduction {
        Reduction::Source => 100 * found.executions,
        Reduction::None | Reduction::Optimal => found.executions + 1,
    };
    let explored = catch_unwind(AssertUnwindSafe(|| engine(machine, mode, most)));
    match explored {
        Ok(explored) => compare(program, found, &explored, mode),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            Err(Disagreement { subject: Subject::Panic, mode, details: text.to_owned() })
        }
    }
}

/// The smallest program with the same kind of disagreement.
fn shrunk(program: &Program, disagreement: Disagreement, size: Size, engine: Engine<'_>) -> (Program, Disagreement) {
    let mut latest = disagreement;
    let small = shrink(program, |candidate| {
        // A little more than the limit, since a program can have more interleavings when an instruction is dropped.
        let size = match size {
            Size::Interleavings(most) => Size::Interleavings(most.max(20_000)),
            Size::Prefixes(most) => Size::Prefixes(2 * most),
        };
        let Some(found) = size.enumerate(candidate) else { return false };
        match check_one(candidate, &found, latest.mode, engine) {
            Err(other) if other.subject == latest.subject => {
                latest = other;
                true
            }
            _ => false,
        }
    });
    (small, latest)
}

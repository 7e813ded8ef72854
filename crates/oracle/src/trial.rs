//! One random program after another, until an engine is wrong: the part that does not depend on what the programs are.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Which programs are tried, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Plan<Profile: 'static, Size, Mode: 'static> {
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
#[derive(Clone, Debug)]
pub struct FuzzReport<Program, Disagreement> {
    /// How many programs were tried.
    pub programs: u64,
    /// How many executions were enumerated.
    pub executions: u64,
    /// How many classes they have.
    pub classes: u64,
    /// The first failure, after which nothing more was tried.
    pub failure: Option<Failure<Program, Disagreement>>,
}

/// A program on which an engine is wrong.
#[derive(Clone, Debug)]
pub struct Failure<Program, Disagreement> {
    /// The profile.
    pub profile: &'static str,
    /// The seed.
    pub seed: u64,
    /// What is wrong about the shrunk program.
    pub disagreement: Disagreement,
    /// The program, shrunk.
    pub program: Program,
}

impl<Program: fmt::Display, Disagreement: fmt::Display> fmt::Display for Failure<Program, Disagreement> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# profile {}, seed {}", self.profile, self.seed)?;
        for line in self.disagreement.to_string().lines() {
            writeln!(f, "# {line}")?;
        }
        write!(f, "{}", self.program)
    }
}

/// What became of one program.
pub struct Tried<Program, Disagreement> {
    /// How many executions it has, as far as they were enumerated.
    pub executions: u64,
    /// How many classes.
    pub classes: u64,
    /// The program, shrunk, if the engine is wrong about it, and what is wrong.
    pub wrong: Option<(Program, Disagreement)>,
}

/// Tries the programs of a plan, each by its seed.
pub fn try_all<P, S, M, Program, Disagreement>(
    plan: &Plan<P, S, M>,
    profile: &'static str,
    mut try_one: impl FnMut(u64) -> Tried<Program, Disagreement>,
) -> FuzzReport<Program, Disagreement> {
    let started = Instant::now();
    let mut report = FuzzReport { programs: 0, executions: 0, classes: 0, failure: None };
    for n in 0..plan.programs {
        if plan.time.is_some_and(|time| started.elapsed() >= time) {
            break;
        }
        let seed = plan.seed.wrapping_add(n);
        let tried = try_one(seed);
        report.programs += 1;
        report.executions += tried.executions;
        report.classes += tried.classes;
        if let Some((program, disagreement)) = tried.wrong {
            report.failure = Some(Failure { profile, seed, disagreement, program });
            break;
        }
    }
    report
}

/// What an engine gives, or the words of its panic.
pub fn caught<T>(engine: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(engine)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown").to_owned()
    })
}

/// The smallest program with the same kind of disagreement. `shrink` makes a program smaller as long as it fails; `check`
/// says what is wrong about one.
pub fn shrunk<Program, Disagreement>(
    first: Disagreement,
    shrink: impl FnOnce(&mut dyn FnMut(&Program) -> bool) -> Program,
    check: impl Fn(&Program, &Disagreement) -> Option<Disagreement>,
    same_kind: impl Fn(&Disagreement, &Disagreement) -> bool,
) -> (Program, Disagreement) {
    let mut latest = first;
    let small = shrink(&mut |candidate| match check(candidate, &latest) {
        Some(other) if same_kind(&other, &latest) => {
            latest = other;
            true
        }
        _ => false,
    });
    (small, latest)
}

//! One random program after another through the engine and the oracle.

use super::locks::{self, Shape};
use super::programs::{self, KINDS, Kind};
use super::{Plan, Seen, compare};
use selvedge_graph::MemoryModel;
use selvedge_oracle::axiomatic::generate::{FAMILIES, Family};
use selvedge_oracle::axiomatic::{self, Limits, Model};
use selvedge_oracle::generate::{self, PROFILES, Profile, Rng};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::shrink::shrink;
use std::fmt;

/// Where programs come from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A bit of everything.
    Profile(&'static Profile),
    /// Cycles on which memory models differ.
    Family(&'static Family),
    /// Threads that wait for each other.
    Kind(&'static Kind),
    /// Locks that are tested before they are taken.
    Shape(&'static Shape),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Profile(profile) => write!(f, "profile {}", profile.name),
            Source::Family(family) => write!(f, "family {}", family.name),
            Source::Kind(kind) => write!(f, "kind {}", kind.name),
            Source::Shape(shape) => write!(f, "shape {}", shape.name),
        }
    }
}

/// Profiles with what the models give no meaning to.
const REFUSED: [&str; 8] =
    ["conds", "condlocks", "sizes", "sections", "frees", "lockraces", "sectionraces", "everything"];

/// All sources of programs that the models give a meaning to.
pub fn sources() -> Vec<Source> {
    let profiles = PROFILES.iter().filter(|profile| !REFUSED.contains(&profile.name)).map(Source::Profile);
    profiles.chain(FAMILIES.iter().map(Source::Family)).chain(KINDS.iter().map(Source::Kind)).collect()
}

/// A program that the oracle can enumerate under a model.
pub fn program(source: Source, seed: u64, model: Model, limits: Limits) -> Program {
    let mut rng = Rng::new(seed);
    for attempt in 0.. {
        let program = match source {
            Source::Profile(profile) => generate::generate(profile, rng.number(), 200).0,
            Source::Family(family) => return axiomatic::generate::generate(family, seed, limits),
            Source::Kind(kind) => programs::program(kind, &mut rng, attempt),
            Source::Shape(shape) => locks::program(shape, &mut rng, attempt),
        };
        debug_assert_eq!(program.validate(), Ok(()), "{program}");
        if axiomatic::enumerate(&program, model, limits).is_ok() {
            return program;
        }
    }
    unreachable!("some program is small enough")
}

/// A program on which the engine is wrong.
pub struct Failure {
    pub source: Source,
    pub seed: u64,
    pub model: MemoryModel,
    pub why: String,
    pub program: Program,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}, seed {}, {}", self.source, self.seed, self.model.name())?;
        self.why.lines().try_for_each(|line| writeln!(f, "# {line}"))?;
        write!(f, "{}", self.program)
    }
}

impl Failure {
    /// Writes the program to a file, and says which.
    pub fn keep(&self) -> String {
        let name = format!("{} {} {}.litmus", self.source, self.seed, self.model.name()).replace(' ', "-");
        let path = std::env::temp_dir().join(name);
        match std::fs::write(&path, self.to_string()) {
            Ok(()) => path.display().to_string(),
            Err(error) => format!("nowhere ({}: {error})", path.display()),
        }
    }
}

/// Compares engine and oracle on one random program under a model, at all levels or at one. What fails is shrunk.
pub fn check(source: Source, seed: u64, models: (MemoryModel, Model), plan: Plan) -> Result<Seen, Box<Failure>> {
    let program = program(source, seed, models.1, plan.limits);
    let why = match compare(&program, models, plan) {
        None => return Ok(Seen::default()),
        Some(Ok(seen)) => return Ok(seen),
        Some(Err(why)) => why,
    };
    // What is smaller may have more graphs.
    let plan = Plan { limits: Limits { graphs: 10 * plan.limits.graphs, ..plan.limits }, ..plan };
    // The same level and kind of failure.
    let same = |other: &str| subject(other) == subject(&why);
    let program = shrink(&program, |p| matches!(compare(p, models, plan), Some(Err(other)) if same(&other)));
    let why = match compare(&program, models, plan) {
        Some(Err(why)) => why,
        _ => why,
    };
    Err(Box::new(Failure { source, seed, model: models.0, why, program }))
}

/// The first words of a message, up to what depends on the program.
fn subject(why: &str) -> &str {
    why.split_once(" times:").map_or(why, |(start, _)| &start[..start.len() - 1]).split(": {").next().unwrap_or(why)
}

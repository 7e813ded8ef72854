//! The report of `verify` for scripts. `docs/json-schema.md` describes it.

use super::{place, words};
use selvedge_impact::iterate::Counterexample;
use selvedge_impact::program::ErrorKind;
use selvedge_impact::solver::Statistics;
use selvedge_impact::term::{mask, signed};
use selvedge_impact::verifier::Verifier;
use selvedge_ir::{EntityRef, LocId, Module};
use selvedge_report::verdict::Program;
use serde::Serialize;

/// The version of the format.
pub const VERSION: u32 = 1;

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub version: u32,
    pub tool: &'static str,
    pub answer: &'static str,
    pub means: String,
    pub exit_code: u8,
    pub seconds: f64,
    pub load_seconds: f64,
    pub clang_seconds: f64,
    pub threads: Vec<String>,
    pub transitions: usize,
    pub nodes: usize,
    pub solver: SolverReport,
    pub iterations: Vec<Iteration>,
    /// Why no schedule of the program can be enforced, if so.
    pub not_enforced: Option<String>,
    pub assumptions: &'static str,
    pub program: Program,
}

/// What was asked of the solver.
#[derive(Clone, Debug, Serialize)]
pub struct SolverReport {
    pub name: &'static str,
    pub questions: u64,
    pub by_rewriting: u64,
    pub by_ranges: u64,
    pub seconds: f64,
}

/// One result after the other.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Iteration {
    Safe(Safe),
    Counterexample(Wrong),
}

/// A safe result.
#[derive(Clone, Debug, Serialize)]
pub struct Safe {
    pub number: u32,
    pub seconds: f64,
    pub nodes: usize,
    pub adds: Vec<String>,
    pub files: Vec<String>,
}

/// A counterexample.
#[derive(Clone, Debug, Serialize)]
pub struct Wrong {
    pub number: usize,
    pub seconds: f64,
    pub error: &'static str,
    pub message: String,
    pub location: Option<Location>,
    pub steps: Vec<Step>,
    /// Where each thread waits, if it is a deadlock.
    pub waits: Vec<String>,
    /// Whether one of them waits for an assumption.
    pub assumption: bool,
    pub files: Vec<String>,
    /// Why it cannot be replayed, if so.
    pub no_trace: Option<String>,
    /// How many more lead to the same place.
    pub further: u32,
}

/// A place in the source.
#[derive(Clone, Debug, Serialize)]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// A step of an interleaving.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub thread: String,
    pub text: String,
    pub location: Option<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
}

/// A value that the environment chose.
#[derive(Clone, Debug, Serialize)]
pub struct Input {
    pub name: String,
    pub value: i64,
}

impl SolverReport {
    pub fn new(name: &'static str, statistics: Statistics) -> SolverReport {
        let Statistics { queries: questions, rewritten: by_rewriting, ranged: by_ranges, time } = statistics;
        SolverReport { name, questions, by_rewriting, by_ranges, seconds: time.as_secs_f64() }
    }
}

/// A counterexample; the files that are written for it are added by the caller.
pub fn wrong(verifier: &Verifier, module: &Module, found: &Counterexample, number: usize, seconds: f64) -> Wrong {
    let location = found.error.as_ref().and_then(|error| location(module, error.loc));
    let (message, error) = match &found.error {
        None => (words::wrong(found, module), "deadlock"),
        Some(error) => (error.message.clone(), kind(error.kind)),
    };
    let steps = steps(verifier, module, found);
    let (waits, assumption) = (words::waits(verifier, module, found), words::waits_for_assumption(verifier, found));
    let (files, no_trace, further) = (Vec::new(), None, 0);
    Wrong { number, seconds, error, message, location, steps, waits, assumption, files, no_trace, further }
}

fn steps(verifier: &Verifier, module: &Module, found: &Counterexample) -> Vec<Step> {
    let mut steps = Vec::new();
    for node in verifier.art.path(found.node) {
        let Some(edge) = verifier.art.nodes[node].parent else { continue };
        let data = &verifier.program.transitions[edge.transition];
        let symbols = &verifier.program.terms.symbols;
        let names = data.inputs.iter().map(|&input| symbols[input].name.clone());
        let inputs = names.zip(verifier.instances_at(node)).map(|(name, symbol)| {
            let bits = symbols[symbol].bits;
            let value = found.inputs.values.get(&symbol).copied().unwrap_or(0) & mask(bits);
            Input { name, value: if bits == 1 { value as i64 } else { signed(value, bits) } }
        });
        steps.push(Step {
            thread: verifier.program.threads[edge.thread].name.clone(),
            text: data.text.clone(),
            location: location(module, data.loc),
            inputs: inputs.collect(),
        });
    }
    steps
}

fn location(module: &Module, loc: LocId) -> Option<Location> {
    let data = &module.locs[loc];
    let file = module.files[data.file?].name.clone();
    debug_assert!(!place(module, loc).is_empty(), "a place with a file has words");
    Some(Location { file, line: data.line, column: data.column })
}

fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Assertion => "assertion",
        ErrorKind::OutOfBounds => "out-of-bounds",
        ErrorKind::InvalidPointer => "invalid-pointer",
        ErrorKind::UninitialisedRead => "uninitialised-read",
        ErrorKind::Arithmetic => "arithmetic",
        ErrorKind::LockMisuse => "lock-misuse",
        ErrorKind::Abort => "abort",
    }
}

/// The text of a report.
pub fn text(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report has no maps with other keys than texts");
    text.push('\n');
    text
}

/// All threads by name.
pub fn threads(verifier: &Verifier) -> Vec<String> {
    debug_assert_eq!(verifier.program.threads.keys().next().map(EntityRef::index), Some(0), "there is a main thread");
    verifier.program.threads.values().map(|thread| thread.name.clone()).collect()
}

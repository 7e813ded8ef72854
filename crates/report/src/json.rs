//! The report for scripts, which is also what `selvedge replay` reads.
//!
//! There is one format for both, so that whatever a script was given can be replayed. `docs/json-schema.md` describes it;
//! [`VERSION`] changes when a field changes its meaning or goes away, not when one is added.

use crate::events;
use crate::verdict::{Program, RunOptions, Shown, Verdict};
use selvedge_machine::schedule::{Link, Schedule, ScheduleStep, Source};
use selvedge_machine::verdict::Found;
use selvedge_machine::{SourceSpan, Violation, ViolationKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the format.
pub const VERSION: u32 = 1;

/// The whole report.
#[derive(Clone, Debug, Serialize)]
struct Report {
    version: u32,
    tool: String,
    verdict: &'static str,
    error: Option<String>,
    executions: Executions,
    seconds: f64,
    cpu_seconds: Option<f64>,
    load_seconds: f64,
    peak_memory_kib: Option<u64>,
    model: String,
    engine: String,
    algorithm: String,
    reductions: Vec<String>,
    not_covered: Vec<String>,
    notes: Vec<String>,
    violations: Vec<Entry>,
    longest_execution: usize,
    steps: u64,
    program: Program,
    options: RunOptions,
}

#[derive(Clone, Debug, Serialize)]
struct Executions {
    complete: u64,
    blocked: u64,
    redundant: u64,
}

/// What of a report can be read back: enough to run its violations again.
#[derive(Debug, Deserialize)]
pub struct Document {
    version: u32,
    /// The memory model.
    #[serde(default)]
    pub model: String,
    /// The program.
    pub program: Program,
    /// What had been chosen.
    pub options: RunOptions,
    /// The reductions that were switched on: some of them change the program.
    pub reductions: Vec<String>,
    violations: Vec<Entry>,
}

/// A violation as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    kind: String,
    message: String,
    locations: Vec<Location>,
    schedule: WrittenSchedule,
    /// What the steps did; for readers, not for `replay`.
    #[serde(default, skip_deserializing)]
    events: Vec<Box<RawValue>>,
    #[serde(default, skip_deserializing)]
    edges: Vec<Box<RawValue>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Location {
    file: String,
    line: u32,
    column: u32,
    #[serde(default)]
    function: String,
    #[serde(default)]
    note: String,
}

/// A schedule as it is written: thread paths, and per step the index of a path and a choice. Both are kept on one line
/// whatever surrounds them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct WrittenSchedule {
    /// `[[],[0],[0,2]]`.
    threads: Box<RawValue>,
    /// `[[0,0],[1,0]]`.
    steps: Box<RawValue>,
    /// If it is no interleaving, what every step reads from: `[null,0,1]` is nothing, the initial value, the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reads_from: Option<Box<RawValue>>,
    /// And the place of every step's write in coherence order: `[1,0,0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coherence: Option<Box<RawValue>>,
}

/// Why a report cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not such a report.
    #[error("not a trace of selvedge: {0}")]
    Syntax(String),
    /// It is of another version.
    #[error("the trace has format version {found}; this selvedge reads version {VERSION}")]
    Version {
        /// Its version.
        found: u64,
    },
    /// It names no violation.
    #[error("the trace has no violation to replay")]
    NoViolation,
    /// It has fewer violations than that.
    #[error("the trace has {count} violations; there is no number {asked}")]
    NoSuchViolation {
        /// How many there are.
        count: usize,
        /// Which one was asked for, from 1.
        asked: usize,
    },
    /// It names a kind of violation that does not exist.
    #[error("the trace names an unknown kind of violation: {0}")]
    UnknownKind(String),
    /// A step names a thread that is not in the list.
    #[error("step {step} of the trace names thread {thread}, which is not in its list of threads")]
    UnknownThread {
        /// Which step, from 1.
        step: usize,
        /// The index that it names.
        thread: usize,
    },
}

/// The report as one JSON object.
pub fn render(verdict: &Verdict) -> String {
    let (question, e) = (&verdict.question, &verdict.exploration);
    let unsupported = e.unsupported.as_ref().map(|u| format!("{}: not supported: {}", u.place, u.feature));
    let report = Report {
        version: VERSION,
        tool: concat!("selvedge ", env!("CARGO_PKG_VERSION")).to_owned(),
        verdict: verdict.answer().name(),
        error: verdict.failure.clone().or(unsupported),
        executions: Executions { complete: e.complete, blocked: e.blocked, redundant: e.redundant },
        seconds: verdict.seconds,
        cpu_seconds: verdict.cpu_seconds,
        load_seconds: verdict.load_seconds,
        peak_memory_kib: verdict.peak_memory_kib,
        model: question.model.clone(),
        engine: question.engine.clone(),
        algorithm: question.algorithm.clone(),
        reductions: question.reductions.clone(),
        not_covered: verdict.not_covered(),
        notes: verdict.exploration.notes.clone(),
        violations: e.violations.iter().enumerate().map(|(n, v)| write_violation(v, verdict.shown.get(n))).collect(),
        longest_execution: e.longest,
        steps: e.steps,
        program: question.program.clone(),
        options: question.options.clone(),
    };
    serde_json::to_string_pretty(&report).expect("a report has nothing that JSON cannot express") + "\n"
}

fn write_violation(found: &Found, shown: Option<&Shown>) -> Entry {
    let v = &found.violation;
    let location = |(span, note): &(SourceSpan, String)| Location {
        file: span.file.clone(),
        line: span.line,
        column: span.column,
        function: span.function.clone(),
        note: note.clone(),
    };
    let (events, edges) = shown.and_then(|shown| shown.replay.as_ref().ok()).map(events::of).unwrap_or_default();
    Entry {
        kind: v.kind.name().to_owned(),
        message: v.message.clone(),
        locations: v.places.iter().map(location).collect(),
        schedule: write_schedule(&found.schedule),
        events: events.iter().map(raw).collect(),
        edges: edges.iter().map(raw).collect(),
    }
}

fn write_schedule(schedule: &Schedule) -> WrittenSchedule {
    let mut threads = schedule.threads.clone();
    let mut index_of = |path: &Vec<u32>| {
        threads.iter().position(|p| p == path).unwrap_or_else(|| {
            threads.push(path.clone());
            threads.len() - 1
        })
    };
    let steps: Vec<(usize, u32)> = schedule.steps.iter().map(|step| (index_of(&step.thread), step.choice)).collect();
    let links = schedule.links.as_ref();
    let reads_from = |links: &Vec<Link>| raw(&links.iter().map(|l| l.from.map(source_number)).collect::<Vec<_>>());
    let coherence = |links: &Vec<Link>| raw(&links.iter().map(|link| link.place).collect::<Vec<_>>());
    WrittenSchedule {
        threads: raw(&threads),
        steps: raw(&steps),
        reads_from: links.map(reads_from),
        coherence: links.map(coherence),
    }
}

/// The number of a step, from 1; 0 for the initial value.
fn source_number(source: Source) -> usize {
    match source {
        Source::Initial => 0,
        Source::Step(n) => n + 1,
    }
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("what is written can be expressed in JSON")
}

/// Reads a report back.
pub fn read(text: &str) -> Result<Document, ReadError> {
    let syntax = |error: serde_json::Error| ReadError::Syntax(error.to_string());
    // The version is looked at first: a report of another version may well lack what this one needs.
    let head: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
    match head.get("version").and_then(serde_json::Value::as_u64) {
        Some(found) if found != u64::from(VERSION) => return Err(ReadError::Version { found }),
        Some(_) => {}
        None => return Err(ReadError::Syntax("there is no version".to_owned())),
    }
    let document: Document = serde_json::from_str(text).map_err(syntax)?;
    debug_assert_eq!(document.version, VERSION, "other versions were refused above");
    Ok(document)
}

impl Document {
    /// How many violations there are.
    pub fn len(&self) -> usize {
        self.violations.len()
    }

    /// Whether there is no violation.
    pub fn is_empty(&self) -> bool {
        self.violations.is_empty()
    }

    /// The n-th violation, from 1, with its schedule.
    pub fn violation(&self, number: usize) -> Result<Found, ReadError> {
        if self.violations.is_empty() {
            return Err(ReadError::NoViolation);
        }
        let no_such = || ReadError::NoSuchViolation { count: self.violations.len(), asked: number };
        let entry = number.checked_sub(1).and_then(|n| self.violations.get(n)).ok_or_else(no_such)?;
        let kind = ViolationKind::from_name(&entry.kind).ok_or_else(|| ReadError::UnknownKind(entry.kind.clone()))?;
        let place = |l: &Location| {
            let (file, function) = (l.file.clone(), l.function.clone());
            (SourceSpan { file, line: l.line, column: l.column, function }, l.note.clone())
        };
        let places = entry.locations.iter().map(place).collect();
        let violation = Violation { kind, message: entry.message.clone(), places };
        Ok(Found { violation, schedule: read_schedule(&entry.schedule)? })
    }
}

fn read_schedule(written: &WrittenSchedule) -> Result<Schedule, ReadError> {
    let syntax = |error: serde_json::Error| ReadError::Syntax(error.to_string());
    let threads: Vec<Vec<u32>> = serde_json::from_str(written.threads.get()).map_err(syntax)?;
    let steps: Vec<(usize, u32)> = serde_json::from_str(written.steps.get()).map_err(syntax)?;
    let step = |(n, &(thread, choice)): (usize, &(usize, u32))| {
        let path = threads.get(thread).ok_or(ReadError::UnknownThread { step: n + 1, thread })?;
        Ok(ScheduleStep { thread: path.clone(), choice })
    };
    let steps = steps.iter().enumerate().map(step).collect::<Result<_, _>>()?;
    Ok(Schedule { threads, steps, links: read_links(written)? })
}

fn read_links(written: &WrittenSchedule) -> Result<Option<Vec<Link>>, ReadError> {
    let (reads_from, coherence) = match (&written.reads_from, &written.coherence) {
        (None, None) => return Ok(None),
        (Some(reads_from), Some(coherence)) => (reads_from, coherence),
        _ => return Err(ReadError::Syntax("of reads_from and coherence one is missing".to_owned())),
    };
    let syntax = |error: serde_json::Error| ReadError::Syntax(error.to_string());
    let reads_from: Vec<Option<usize>> = serde_json::from_str(reads_from.get()).map_err(syntax)?;
    let coherence: Vec<u32> = serde_json::from_str(coherence.get()).map_err(syntax)?;
    if reads_from.len() != coherence.len() {
        return Err(ReadError::Syntax("reads_from and coherence are not of the same length".to_owned()));
    }
    let source = |number: usize| number.checked_sub(1).map_or(Source::Initial, Source::Step);
    let links = reads_from.into_iter().zip(coherence);
    Ok(Some(links.map(|(from, place)| Link { from: from.map(source), place }).collect()))
}

/// A hash of a program's text (64-bit FNV-1a), to notice that a schedule belongs to another program.
pub fn hash(text: &str) -> String {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    let hash = text.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(super::hash(""), "cbf29ce484222325");
        assert_eq!(super::hash("foobar"), "85944171f73967e8");
    }
}

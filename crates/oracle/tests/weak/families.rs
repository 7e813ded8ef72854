//! The classic litmus families, with their outcomes under the four models as the literature has them.
//!
//! Each file says in its first comment lines where the expectation comes from, and then:
//!
//! - `# weak: t1.r0 = 0 & v0 = 2`: an outcome, of registers and of variables in the end;
//! - `# sc: forbidden, 3 complete, 1 blocked, 1 useful, livelock`, likewise for `tso`, `ra` and `rc11`: whether some
//!   complete graph has the outcome, how many complete and blocked graphs there are and how many of the blocked are not
//!   stale (none, if it is not said), and all kinds of errors.
//!
//! Numbers were counted by hand, over the choices of `rf` and `co`.

use selvedge_machine::ViolationKind;
use selvedge_oracle::Program;
use selvedge_oracle::axiomatic::render::render;
use selvedge_oracle::axiomatic::{Blocking, Limits, MODELS, Model, Outcome, Summary, enumerate};
use selvedge_oracle::litmus::REGISTERS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A litmus file.
pub struct File {
    pub name: String,
    pub program: Program,
    /// The outcome that is asked for: parts of the final state and their values.
    pub weak: Option<Vec<(Part, u64)>>,
    /// What is expected of each model.
    pub expected: BTreeMap<Model, Expected>,
}

/// A part of the final state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Register { thread: usize, reg: usize },
    Variable(usize),
}

/// What is expected of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    pub allowed: Option<bool>,
    pub complete: usize,
    pub blocked: usize,
    pub useful: usize,
    pub errors: BTreeSet<ViolationKind>,
}

/// All litmus files.
pub fn files() -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/weak");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|ext| ext == "litmus")).collect();
    paths.sort();
    paths.iter().map(|path| File::read(path)).collect()
}

impl File {
    fn read(path: &Path) -> File {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut file = File { name, program, weak: None, expected: BTreeMap::new() };
        for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
            let Some((word, rest)) = line.split_once(": ") else { continue };
            if word == "weak" {
                file.weak = Some(rest.split(" & ").map(condition).collect());
            } else if let Some(model) = Model::named(word) {
                file.expected.insert(model, expected(rest));
            }
        }
        file
    }

    /// Whether an outcome is the one that is asked for.
    pub fn is_weak(&self, outcome: &Outcome) -> bool {
        let offset = |var: usize| self.program.vars[..var].iter().map(|var| usize::from(var.size)).sum::<usize>();
        let value = |part: Part| match part {
            Part::Register { thread, reg } => outcome.threads[thread * REGISTERS + reg],
            Part::Variable(var) => {
                let bytes = &outcome.memory[offset(var)..][..usize::from(self.program.vars[var].size)];
                bytes.iter().rev().fold(0, |value, byte| value << 8 | byte)
            }
        };
        self.weak.as_ref().is_some_and(|parts| parts.iter().all(|&(part, wanted)| value(part) == wanted))
    }

    /// What a summary amounts to.
    pub fn observed(&self, summary: &Summary) -> Expected {
        Expected {
            allowed: self.weak.as_ref().map(|_| summary.outcomes().into_iter().any(|outcome| self.is_weak(outcome))),
            complete: summary.complete().count(),
            blocked: summary.blocked(Blocking::Plain).count(),
            useful: summary.blocked(Blocking::Useful).count(),
            errors: summary.error_kinds(),
        }
    }
}

/// `t1.r0 = 0` or `v0 = 2`.
fn condition(text: &str) -> (Part, u64) {
    let (part, value) = text.split_once(" = ").unwrap_or_else(|| panic!("`{text}` is not a condition"));
    let number = |text: &str, prefix: char| text.strip_prefix(prefix).unwrap().parse().unwrap();
    let part = match part.split_once('.') {
        Some((thread, reg)) => Part::Register { thread: number(thread, 't'), reg: number(reg, 'r') },
        None => Part::Variable(number(part, 'v')),
    };
    (part, value.parse().unwrap())
}

/// `forbidden, 3 complete, 1 blocked, 1 useful, livelock`.
fn expected(text: &str) -> Expected {
    let mut expected = Expected::default();
    for part in text.split(", ") {
        match part.split_once(' ') {
            None if part == "allowed" => expected.allowed = Some(true),
            None if part == "forbidden" => expected.allowed = Some(false),
            Some((number, "complete")) => expected.complete = number.parse().unwrap(),
            Some((number, "blocked")) => expected.blocked = number.parse().unwrap(),
            Some((number, "useful")) => expected.useful = number.parse().unwrap(),
            _ => {
                expected.errors.insert(match part {
                    "data race" => ViolationKind::DataRace,
                    "deadlock" => ViolationKind::Deadlock,
                    "livelock" => ViolationKind::Livelock,
                    "use after free" => ViolationKind::UseAfterFree,
                    "double free" => ViolationKind::DoubleFree,
                    "assertion" => ViolationKind::Assertion,
                    "uninitialised read" => ViolationKind::UninitialisedRead,
                    _ => panic!("`{part}` is not an expectation"),
                });
            }
        }
    }
    expected
}

#[test]
fn outcomes_and_counts_are_as_the_literature_has_them() {
    let files = files();
    assert!(files.len() >= 90, "only {} files were found", files.len());
    let mut failures = Vec::new();
    for file in &files {
        for model in MODELS {
            let expected = file.expected.get(&model).unwrap_or_else(|| panic!("{}: {model} is missing", file.name));
            let summary = enumerate(&file.program, model, Limits::default()).unwrap();
            let observed = file.observed(&summary);
            if observed != *expected {
                let graphs: Vec<String> = summary.graphs.keys().map(|key| render(&file.program, key)).collect();
                let graphs = graphs.join("\n");
                failures.push(format!(
                    "{}, {model}:\n  expected {expected:?}\n  observed {observed:?}\n{graphs}",
                    file.name
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

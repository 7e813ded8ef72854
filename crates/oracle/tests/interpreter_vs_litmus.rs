//! The interpreter against the litmus machine: the same programs have the same classes on both, and the engine says so too.

use selvedge_ir::{parse_module, verify_module};
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use selvedge_oracle::generate::{PROFILES, generate};
use selvedge_oracle::lower::{Lowered, lower};
use selvedge_oracle::{Class, Enumeration, Program, enumerate};
use selvedge_trace::{Algorithm, Options, explore};

/// What both have to agree on about a class: complete or not, kinds of violations, data race, contents of variables.
type Summary = (bool, Vec<ViolationKind>, bool, Vec<Vec<u64>>);

fn summary(class: &Class, variables: Vec<Vec<u64>>) -> Summary {
    let mut kinds: Vec<ViolationKind> = class.ending.violations.iter().map(|(kind, _)| *kind).collect();
    kinds.dedup();
    (class.ending.complete, kinds, class.race, variables)
}

fn of_litmus(program: &Program, lowered: &Lowered, found: &Enumeration) -> Vec<Summary> {
    let variables = |memory: &[u64]| {
        let mut rest = memory;
        let mut all = Vec::new();
        for (var, &data) in program.vars.iter().zip(&lowered.data) {
            let (bytes, later) = rest.split_at(usize::from(var.size));
            all.push(bytes[..data].to_vec());
            rest = later;
        }
        all
    };
    sorted(found.classes.values().map(|class| summary(class, variables(&class.ending.memory))))
}

fn of_interpreter(lowered: &Lowered, found: &Enumeration) -> Vec<Summary> {
    let variables = |memory: &[u64]| {
        let mut rest = memory;
        let mut all = Vec::new();
        for &data in &lowered.data {
            let (bytes, later) = rest[1..].split_at(rest[0] as usize);
            all.push(bytes[..data].to_vec());
            rest = later;
        }
        all
    };
    sorted(found.classes.values().map(|class| summary(class, variables(&class.ending.memory))))
}

fn sorted(summaries: impl Iterator<Item = Summary>) -> Vec<Summary> {
    let mut all: Vec<Summary> = summaries.collect();
    all.sort();
    all
}

fn interpreter(lowered: &Lowered) -> Interpreter {
    let module = parse_module(&lowered.text).unwrap_or_else(|error| panic!("{error}\n{}", lowered.text));
    if let Err(errors) = verify_module(&module) {
        panic!("{errors}\n{}", lowered.text);
    }
    Interpreter::new(&module, InterpOptions::default()).unwrap_or_else(|error| panic!("{error}\n{}", lowered.text))
}

/// Calls a function with random programs that can be translated. There are at least so many.
fn each_program(seed: u64, at_least: usize, check: impl Fn(&Program, &Enumeration, &Lowered)) {
    let mut tried = 0;
    for profile in PROFILES {
        for seed in seed..seed + 90 {
            let (program, found) = generate(profile, seed, 300);
            if let Some(lowered) = lower(&program) {
                check(&program, &found, &lowered);
                tried += 1;
            }
        }
    }
    assert!(tried >= at_least, "only {tried} programs could be translated");
}

#[test]
fn the_interpreter_has_the_same_classes() {
    each_program(77_000, 750, |program, found, lowered| {
        let interpreted = enumerate(interpreter(lowered), 10_000).unwrap();
        let (expected, got) = (of_litmus(program, lowered, found), of_interpreter(lowered, &interpreted));
        assert!(expected == got, "{program}\nlitmus: {expected:?}\ninterpreter: {got:?}");
    });
}

#[test]
fn the_engine_counts_the_classes_of_the_interpreter() {
    each_program(78_000, 750, |program, found, lowered| {
        let limits = Limits { all: true, ..Limits::default() };
        let options = Options { algorithm: Algorithm::Optimal, limits, ..Options::default() };
        let explored = explore(interpreter(lowered), &options, &mut |_| {});
        let complete = found.classes.values().filter(|class| class.ending.complete).count() as u64;
        let blocked = found.classes.len() as u64 - complete;
        let reported = (explored.complete, explored.blocked, explored.redundant);
        assert_eq!(reported, (complete, blocked, 0), "{program}\n{}", lowered.text);
    });
}

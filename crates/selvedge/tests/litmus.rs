//! The litmus tests of `examples/`: exactly the outcomes and as many executions as the oracle finds under RC11.
//!
//! The oracle enumerates the execution graphs of a program that is written down here once more, in its own language, and
//! knows nothing of Rust closures.

#![allow(unsafe_code, dead_code)]

#[path = "../examples/programs/mod.rs"]
mod programs;

/// What the programs are written against.
mod library {
    pub use selvedge::{cell, hint, sync, thread};
}

use programs::litmus::{LITMUS, Litmus, STYLES, Style};
use selvedge::model::Builder;
use selvedge_oracle::axiomatic::{Limits, Model, enumerate};
use selvedge_oracle::litmus::{Program, REGISTERS};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// The same tests: threads separated by `|`, their accesses by spaces. `x=1` writes, `x` reads, `x++` increments, and `x++rlx`
/// increments with a relaxed ordering in every style. `final` stands for reads of all variables when all threads have ended.
const NOTATION: &[(&str, &str)] = &[
    ("SB", "x=1 y | y=1 x"),
    ("MP", "x=1 y=1 | y x"),
    ("LB", "x y=1 | y x=1"),
    ("2+2W", "x=1 y=2 | y=1 x=2 | final"),
    ("CoRR", "x=1 x=2 | x x"),
    ("WRC", "x=1 | x y=1 | y x"),
    ("IRIW", "x=1 | y=1 | x y | y x"),
    ("release sequence", "x=1 y=1 | y++rlx | y x"),
    ("RMW atomicity", "x++ | x++ | x++ x++"),
];

fn suffix(order: Ordering) -> &'static str {
    match order {
        Ordering::Relaxed => "rlx",
        Ordering::Acquire => "acq",
        Ordering::Release => "rel",
        Ordering::AcqRel => "acqrel",
        _ => "sc",
    }
}

/// A test in a style as a program of the oracle, and how many reads each thread makes.
fn program(notation: &str, style: Style) -> (Program, Vec<usize>) {
    let (accesses, is_final) = match notation.strip_suffix(" | final") {
        Some(rest) => (rest, true),
        None => (notation, false),
    };
    let threads: Vec<&str> = accesses.split(" | ").collect();
    let mut bodies = String::new();
    let mut reads = vec![0];
    for (n, thread) in threads.iter().enumerate() {
        bodies += &format!("thread t{}\n", n + 1);
        let mut registers = 0;
        for (m, access) in thread.split(' ').enumerate() {
            if let Some(order) = style.fence.filter(|_| m > 0) {
                bodies += &format!("fence.{}\n", suffix(order));
            }
            let var = if access.starts_with('x') { "v0:8" } else { "v1:8" };
            bodies += &match &access[1..] {
                "" => format!("r{registers} = load.{} {var}\n", suffix(style.load)),
                "++" => format!("r{registers} = rmw.{} add {var} 1\n", suffix(style.rmw)),
                "++rlx" => format!("r{registers} = rmw.rlx add {var} 1\n"),
                store => format!("store.{} {var} {}\n", suffix(style.store), &store[1..]),
            };
            registers += usize::from(!access.contains('='));
        }
        reads.push(registers);
    }
    let all = || (1..=threads.len()).map(|n| format!("t{n}\n"));
    let spawns: String = all().map(|t| format!("spawn {t}")).collect();
    let joins: String = all().map(|t| format!("join {t}")).collect();
    let last = if is_final { "r0 = load.rlx v0:8\nr1 = load.rlx v1:8\n" } else { "" };
    reads[0] = if is_final { 2 } else { 0 };
    let text = format!("var v0 8 = 0\nvar v1 8 = 0\nthread t0\n{spawns}{joins}{last}{bodies}");
    (text.parse().unwrap_or_else(|error| panic!("{error}:\n{text}")), reads)
}

/// The number of graphs and the outcomes that the oracle finds.
fn expected(notation: &str, style: Style) -> (u64, BTreeSet<Vec<usize>>) {
    let (program, reads) = program(notation, style);
    let summary = enumerate(&program, Model::Rc11, Limits::default()).expect("it is small");
    let outcome = |registers: &[u64]| {
        let threads = reads.iter().zip(registers.chunks(REGISTERS));
        threads.flat_map(|(count, registers)| &registers[..*count]).map(|value| *value as usize).collect()
    };
    let outcomes = summary.outcomes().into_iter().map(|found| outcome(&found.threads)).collect();
    (summary.complete().count() as u64, outcomes)
}

/// The number of executions and the outcomes that the library finds.
fn found((_, test): Litmus, style: Style) -> (u64, BTreeSet<Vec<usize>>) {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&outcomes);
    let stats = Builder::new().explore(move || {
        let outcome = test(style);
        noted.lock().unwrap().insert(outcome);
    });
    assert_eq!((stats.failure, stats.blocked), (None, 0));
    let outcomes = outcomes.lock().unwrap().clone();
    (stats.complete, outcomes)
}

#[test]
fn litmus_tests_have_the_outcomes_and_executions_of_the_oracle() {
    for (litmus, (name, notation)) in LITMUS.iter().zip(NOTATION) {
        assert_eq!(litmus.0, *name, "both lists are in the same order");
        for style in STYLES {
            assert_eq!(found(*litmus, style), expected(notation, style), "{name}, {}", style.name);
        }
    }
    assert_eq!(LITMUS.len(), NOTATION.len());
}

fn named(name: &str) -> Litmus {
    *LITMUS.iter().find(|(other, _)| *other == name).expect("there is such a test")
}

fn executions(name: &str) -> [u64; 5] {
    STYLES.map(|style| found(named(name), style).0)
}

/// What is known of these tests, whatever the oracle says.
#[test]
fn well_known_tests_have_well_known_numbers_of_executions() {
    assert_eq!(executions("SB"), [4, 4, 3, 4, 3]);
    assert_eq!(executions("MP")[..3], [4, 3, 3]);
    assert_eq!(executions("LB"), [3; 5]);
    assert_eq!(executions("CoRR"), [6; 5]);
    assert_eq!(executions("IRIW"), [16, 16, 15, 16, 15]);
}

#[test]
fn the_outcomes_that_models_are_told_apart_by() {
    let [relaxed, acquire, seq_cst, ..] = STYLES;
    let sees = |name: &str, style: Style, outcome: &[usize]| found(named(name), style).1.contains(outcome);
    assert!(sees("SB", acquire, &[0, 0]) && !sees("SB", seq_cst, &[0, 0]));
    assert!(sees("MP", relaxed, &[1, 0]) && !sees("MP", acquire, &[1, 0]));
    assert!(!sees("LB", relaxed, &[1, 1]), "no value comes out of thin air");
    assert!(!sees("CoRR", relaxed, &[2, 1]));
    assert!(sees("WRC", relaxed, &[1, 1, 0]) && !sees("WRC", acquire, &[1, 1, 0]));
    assert!(sees("IRIW", acquire, &[1, 0, 1, 0]) && !sees("IRIW", seq_cst, &[1, 0, 1, 0]));
    // The increment has made 2 of the released 1.
    assert!(sees("release sequence", relaxed, &[1, 2, 0]) && !sees("release sequence", acquire, &[1, 2, 0]));
}

//! The graph engine and the axiomatic oracle agree on random programs: on every graph, visited once, under every model and
//! with every reduction. In a part of the programs every graph on the way is looked at as well (`axioms.rs`).
//!
//! The environment variable `PROGRAMS` is the number of programs per source and model, and `SEED` the first seed.
//! A program on which they differ is shrunk and written to a file; `cargo xtask fuzz --engine graph FILE` tries it again.

use crate::common::random::{Failure, Source, check, sources};
use crate::common::{MODELS, Plan, Seen, number};
use selvedge_oracle::axiomatic::Limits;

/// How large programs are: what the oracle may visit, unfinished graphs included.
const LIMITS: Limits = Limits { graphs: 300, events: 48 };
/// Programs per source and model.
const PROGRAMS: u64 = 140;

/// Of so many of a hundred programs of a kind, in-place and speculative revisits must spare the engine something
/// without being given up: what is compared would be worth little if it went back to plain TruSt most of the time.
const AT_WORK: &[(&str, usize, usize)] = &[
    ("kind awaits", 10, 0),
    ("kind mutexes", 10, 0),
    ("kind locks", 10, 0),
    ("kind semaphores", 5, 0),
    ("kind exchanges", 10, 0),
    ("kind confirmations", 30, 40),
    ("kind repeated values", 10, 20),
    ("kind confirmations of two", 3, 15),
    ("kind confirmations and awaits", 15, 15),
    ("kind confirmations and others", 10, 3),
];

/// In so many of a hundred programs of a kind, attempts that are taken together must spare something.
const COMPOSITE: &[(&str, usize)] = &[
    ("kind attempts", 20),
    ("kind attempts that exchange", 20),
    ("kind attempts that sleep", 10),
    ("kind late attempts", 10),
];

/// Tries programs of all sources under a model.
fn agree(name: &str) {
    let models = MODELS.into_iter().find(|(model, _)| model.name() == name).expect("a model");
    for source in sources() {
        let plan =
            |seed| Plan { only: None, limits: LIMITS, invariants: seed % 8 == 0, jobs: seed % 8 == 1, spins: false };
        let seen = each(source, |seed| check(source, seed, models, plan(seed)));
        let percent = |test: fn(&Seen) -> bool| seen.iter().filter(|seen| test(seen)).count() * 100 / seen.len();
        let in_place = percent(|seen| !seen.gave_up[2] && seen.graphs[2] < seen.graphs[1]);
        let speculative = percent(|seen| !seen.gave_up[3] && seen.attempts[3] < seen.attempts[2]);
        let exchanged = percent(|seen| seen.exchanged[2] && seen.graphs[2] < seen.graphs[1]);
        let wanted = AT_WORK.iter().find(|(name, _, _)| *name == source.to_string());
        if let Some((_, first, second)) = wanted.filter(|_| seen.len() >= 100) {
            assert!(in_place >= *first && speculative >= *second, "{source}: {in_place} % and {speculative} %");
        }
        let composite = percent(|seen| seen.graphs[4] < seen.graphs[3]);
        let wanted = COMPOSITE.iter().find(|(name, _)| *name == source.to_string());
        if let Some((_, wanted)) = wanted.filter(|_| seen.len() >= 100) {
            assert!(composite >= *wanted, "{source}: {composite} %");
        }
        let others = percent(|seen| seen.others[0] > 0 && seen.others[1] == 0);
        if source.to_string() == "kind repeated values" && seen.len() >= 100 {
            assert!(others >= 10, "{source}: {others} %");
        }
        if source.to_string() == "kind racing stores" && seen.len() >= 100 {
            // Only where the model orders stores that count as exchanges.
            let fits = if matches!(name, "sc" | "tso") { exchanged >= 10 } else { exchanged == 0 };
            assert!(fits, "{source}: {exchanged} % under {name}");
        }
    }
}

fn each(source: Source, check: impl Fn(u64) -> Result<Seen, Box<Failure>>) -> Vec<Seen> {
    let first = number("SEED", 0);
    let seeds = first..first + number("PROGRAMS", PROGRAMS);
    let seen = seeds.map(|seed| {
        check(seed).unwrap_or_else(|failure| {
            let file = failure.keep();
            panic!("the engine is wrong about this program of {source}, which is in {file}:\n{failure}")
        })
    });
    seen.collect()
}

#[test]
fn twenty_thousand_programs_are_tried() {
    assert!(sources().len() as u64 * MODELS.len() as u64 * PROGRAMS >= 20_000);
}

#[test]
fn under_sequential_consistency() {
    agree("sc");
}

#[test]
fn under_total_store_order() {
    agree("tso");
}

#[test]
fn under_release_acquire() {
    agree("ra");
}

#[test]
fn under_rc11() {
    agree("rc11");
}

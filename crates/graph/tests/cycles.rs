//! The graph engine and the axiomatic oracle agree on random programs made to tell memory models apart.

mod common;

use common::{MODELS, compare};
use selvedge_graph::Reductions;
use selvedge_oracle::axiomatic::Limits;
use selvedge_oracle::axiomatic::generate::{FAMILIES, generate};
use selvedge_oracle::shrink::shrink;

/// Checks so many programs of each family; `PROGRAMS` and `SEED` as for the other random programs.
fn check(reductions: Reductions) {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (count, start) = (number("PROGRAMS", 30), number("SEED", 0));
    for family in FAMILIES {
        if std::env::var("PROFILE").is_ok_and(|only| only != family.name) {
            continue;
        }
        for seed in start..start + count {
            let program = generate(family, seed, Limits { graphs: 1_000, events: 48 });
            for models in MODELS {
                if let Err(why) = compare(&program, models, reductions) {
                    let small = shrink(&program, |p| compare(p, models, reductions).is_err());
                    let why = compare(&small, models, reductions).err().unwrap_or(why);
                    panic!("{} {seed}: {why}\n{small}", family.name);
                }
            }
        }
    }
}

#[test]
fn trust_visits_every_graph_of_a_cycle_once() {
    check(Reductions::NONE);
}

#[test]
fn reductions_visit_every_useful_graph_of_a_cycle_once() {
    check(Reductions { stale: true, in_place: true, speculative: false });
    check(Reductions::ALL);
}

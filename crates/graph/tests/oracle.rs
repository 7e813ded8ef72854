//! The graph engine and the axiomatic oracle agree on random programs.

mod common;

use common::{MODELS, compare};
use selvedge_graph::Reductions;
use selvedge_oracle::generate::{generate, profile};
use selvedge_oracle::shrink::shrink;

const PROFILES: [&str; 12] = [
    "accesses", "rmw", "locks", "awaits", "tests", "trees", "choices", "frees", "uninit", "branches", "races",
    "confirmations",
];

fn count() -> u64 {
    std::env::var("PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

fn check(name: &str, reductions: Reductions) {
    if std::env::var("PROFILE").is_ok_and(|only| only != name) {
        return;
    }
    let start: u64 = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in start..start + count() {
        let (program, _) = generate(profile(name).expect("a profile"), seed, 2_000);
        for models in MODELS {
            if let Err(why) = compare(&program, models, reductions) {
                let small = shrink(&program, |p| compare(p, models, reductions).is_err());
                let why = compare(&small, models, reductions).err().unwrap_or(why);
                panic!("{name} {seed}: {why}\n{small}");
            }
        }
    }
}

#[test]
fn trust_visits_every_graph_once() {
    for name in PROFILES {
        check(name, Reductions::NONE);
        eprintln!("{name} done");
    }
}

#[test]
fn stale_reads_are_not_explored() {
    for name in PROFILES {
        check(name, Reductions { stale: true, ..Reductions::NONE });
    }
}

#[test]
fn reads_are_read_again_in_place() {
    for name in PROFILES {
        check(name, Reductions { stale: true, in_place: true, speculative: false });
        eprintln!("{name} done");
    }
}

#[test]
fn confirmations_are_explored_one_at_a_time() {
    for name in PROFILES {
        check(name, Reductions::ALL);
        eprintln!("{name} done");
    }
}

//! The trace engine against the enumerator on random programs of every profile.
//!
//! A failure prints the smallest program that shows it; put it into a file and run `cargo run --example fuzz -- FILE`.

mod common;

use selvedge_oracle::check::MODES;
use selvedge_oracle::fuzz::{Plan, fuzz};
use selvedge_oracle::generate::{PROFILES, Size, profile};

/// Programs per profile: many with few interleavings, some with many, and some of which only classes are enumerated.
const PLANS: [(u64, u64, Size); 3] = [
    (0, 10, Size::Interleavings(5_000)),
    (1_000_000, 860, Size::Interleavings(300)),
    (2_000_000, 50, Size::Prefixes(3_000)),
];

fn agree(name: &str) {
    let profile = profile(name).expect("the profile exists");
    for (seed, programs, size) in PLANS {
        let plan = Plan { profile, seed, programs, time: None, size, modes: MODES };
        let report = fuzz(&plan, &common::engine);
        if let Some(failure) = report.failure {
            panic!("the engine is wrong about this program:\n{failure}");
        }
        assert_eq!(report.programs, programs);
    }
}

#[test]
fn twenty_thousand_programs_are_tried() {
    let programs: u64 = PLANS.iter().map(|(_, programs, _)| programs).sum();
    assert!(programs * PROFILES.len() as u64 >= 20_000);
}

macro_rules! profiles {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { agree(stringify!($name)); })*

        #[test]
        fn every_profile_is_tried() {
            let all: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            assert_eq!(all, [$(stringify!($name)),*]);
        }
    };
}

profiles! {
    accesses,
    rmw,
    locks,
    awaits,
    confirmations,
    tests,
    conds,
    condlocks,
    trees,
    choices,
    sizes,
    sections,
    frees,
    uninit,
    branches,
    races,
    lockraces,
    sectionraces,
    everything,
    guards,
    waits,
    sums,
    spins,
}

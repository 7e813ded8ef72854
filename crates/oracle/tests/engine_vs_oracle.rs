//! The trace engine against the enumerator on random programs of every profile.
//!
//! A failure prints the smallest program that shows it; put it into a file and run `cargo run --example fuzz -- FILE`.

mod common;

use selvedge_oracle::check::MODES;
use selvedge_oracle::fuzz::{Plan, fuzz};
use selvedge_oracle::generate::profile;

fn agree(name: &str, programs: u64) {
    let profile = profile(name).expect("the profile exists");
    // A few programs with many interleavings, and many with few.
    for (seed, programs, max_executions) in [(0, programs / 40, 10_000), (1_000_000, programs, 400)] {
        let plan = Plan { profile, seed, programs, time: None, max_executions, modes: MODES };
        let report = fuzz(&plan, &common::engine);
        if let Some(failure) = report.failure {
            panic!("the engine is wrong about this program:\n{failure}");
        }
        assert_eq!(report.programs, programs);
    }
}

macro_rules! profiles {
    ($($name:ident: $programs:literal),* $(,)?) => {
        $(#[test] fn $name() { agree(stringify!($name), $programs); })*

        #[test]
        fn every_profile_is_tried() {
            let all: Vec<&str> = selvedge_oracle::generate::PROFILES.iter().map(|profile| profile.name).collect();
            assert_eq!(all, [$(stringify!($name)),*]);
        }
    };
}

profiles! {
    accesses: 400,
    rmw: 400,
    locks: 400,
    awaits: 400,
    confirmations: 400,
    tests: 400,
    conds: 400,
    condlocks: 400,
    trees: 400,
    choices: 400,
    sizes: 400,
    sections: 400,
    frees: 400,
    uninit: 400,
    branches: 400,
    races: 400,
    lockraces: 400,
    sectionraces: 400,
    everything: 400,
}

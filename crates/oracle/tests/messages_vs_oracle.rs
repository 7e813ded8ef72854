//! The engine of message passing against the enumerator on random programs, in every mode.
//!
//! A failure prints the smallest program that shows it; put it into a file and run `cargo run --example fuzz_messages --
//! FILE`.

mod messages_common;

use selvedge_oracle::messages::check::{MODES, Size};
use selvedge_oracle::messages::fuzz::{Plan, fuzz};
use selvedge_oracle::messages::generate::profile;

/// Programs per profile: many of which all interleavings are enumerated, and some larger ones.
const PLANS: [(u64, u64, Size); 2] =
    [(1_000_000, 250, Size::Interleavings(300)), (2_000_000, 30, Size::Prefixes(2_000))];

fn agree(name: &str) {
    let profile = profile(name).expect("the profile exists");
    for (seed, programs, size) in PLANS {
        let plan = Plan { profile, seed, programs, time: None, size, modes: MODES };
        let report = fuzz(&plan, &messages_common::engine);
        if let Some(failure) = report.failure {
            panic!("the engine is wrong about this program:\n{failure}");
        }
        assert_eq!(report.programs, programs);
    }
}

macro_rules! profiles {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { agree(stringify!($name)); })*
    };
}

profiles! {
    sends,
    timeouts,
    branches,
    choices,
    spawns,
    names,
    tables,
    aliases,
    tests,
    links,
    monitors,
    signals,
    timers,
    queries,
    ends,
    everything,
}
